import type { CreateLead } from '@leadwire/contracts'
import { type OpenTransaction, statement, type Transaction } from '@leadwire/service-kit'

/** A lead that is locked to be changed. */
export interface LockedLead {
  id: number
  number: number
  version: number
  userId: number | null
  userEmail: string | null
  /** Whether it is a test lead whatever its status. */
  marked: boolean
  /** JSON. */
  attributes: string | null
  accountKey: string
  /** When it is changed. */
  now: string
}

// A lead with the id may not be there yet, so there is no row to lock. In one order, so that two batches never deadlock; the seed
// keeps them apart from the locks of idempotency keys.
const lock = statement('lock-external-ids')`
  SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(account_id || ':' || external_id, 1) AS key
    FROM unnest($1::bigint[], $2::text[]) AS asked (account_id, external_id) ORDER BY key
  ) keys`

// updated_at never goes back, whatever the clock does. The clock is read when the row is locked, so that the transaction has
// its id before: change-horizon.ts counts on it. A lead that was erased meanwhile has no external id any more.
const find = statement<LockedLead & { ord: number }>('find-by-external-ids')`
  WITH found AS MATERIALIZED (
    SELECT asked.ord, l.* FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (account_id, external_id, ord)
    JOIN leads l ON l.account_id = asked.account_id AND l.external_id = asked.external_id AND l.external_id IS NOT NULL
    ORDER BY l.account_id, l.id
    FOR NO KEY UPDATE OF l
  )
  SELECT ord::int, id, number, version, user_id AS "userId", test AS marked, attributes,
    (SELECT email FROM users u WHERE u.account_id = found.account_id AND u.id = found.user_id) AS "userEmail",
    (SELECT api_key FROM accounts WHERE id = found.account_id) AS "accountKey",
    greatest(clock_timestamp(), updated_at) AS now
  FROM found`

const withExternalId = (items: CreateLead[]) => items.filter(({ lead }) => lead!.externalId !== undefined)

const valuesOf = (items: CreateLead[]) => [
  items.map(({ accountId }) => accountId),
  items.map(({ lead }) => lead!.externalId),
]

/** Keeps others from making leads with the external ids of these until the transaction ends. */
export const lockExternalIds = (tx: OpenTransaction, items: CreateLead[]): void => {
  const asked = withExternalId(items)
  if (asked.length > 0) lock.send(tx, ...valuesOf(asked))
}

/** The leads that are there with the external ids of items, locked. */
export const findByExternalIds = async (
  tx: Transaction,
  items: CreateLead[],
): Promise<Map<CreateLead, LockedLead>> => {
  const asked = withExternalId(items)
  if (asked.length === 0) return new Map()
  const rows = await find(tx, ...valuesOf(asked))
  return new Map(rows.map((row) => [asked[row.ord - 1]!, row]))
}

/**
 * Items in groups that are written one after the other: of several with one external id each finds what the one before it wrote.
 */
export const roundsOf = (items: CreateLead[]): CreateLead[][] => {
  if (withExternalId(items).length === 0) return [items]
  const counts = new Map<string, number>()
  const rounds: CreateLead[][] = []
  for (const item of items) {
    const key = `${item.accountId}:${item.lead!.externalId}`
    const round = item.lead!.externalId === undefined ? 0 : (counts.get(key) ?? 0)
    counts.set(key, round + 1)
    rounds[round] = [...(rounds[round] ?? []), item]
  }
  return rounds
}
