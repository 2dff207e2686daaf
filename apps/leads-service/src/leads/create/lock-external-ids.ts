import type { CreateLead } from '@leadwire/contracts'
import { type OpenTransaction, statement } from '@leadwire/service-kit'

/** A lead that is locked for a change. */
export interface LockedLead {
  id: number
  number: number
  version: number
  userId: number | null
  userEmail: string | null
  /** Whether the lead was marked as a test, whatever its status is. */
  marked: boolean
  /** JSON. */
  attributes: string | null
  externalId: string | null
  accountKey: string
  /** The time of the change: the new `updated_at`. */
  now: string
}

// Locks the external ids themselves, because a lead that does not exist yet has no row to lock. Takes the
// locks in the order of their keys, so that two transactions never deadlock. The seed 1 separates these locks
// from the locks of idempotency keys.
const lock = statement('lock-external-ids')`
  SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended($1 || ':' || external_id, 1) AS key
    FROM unnest($2::text[]) AS asked (external_id) ORDER BY key
  ) keys`

const lockLeads = statement('lock-leads-by-external-id')`
  SELECT FROM leads WHERE account_id = $1 AND external_id = ANY ($2::text[]) AND external_id IS NOT NULL
  ORDER BY id FOR NO KEY UPDATE`

/**
 * Locks external ids of an account, and then the leads that have these ids. Until the transaction ends, no
 * other transaction can create a lead with one of the ids, or change one of the leads. Sends the statements
 * without waiting for their results.
 */
export const lockExternalIds = (tx: OpenTransaction, accountId: number, items: CreateLead[]): void => {
  const externalIds = items.flatMap(({ lead }) => lead!.externalId ?? [])
  lock.send(tx, accountId, externalIds)
  lockLeads.send(tx, accountId, externalIds)
}

/**
 * Locks an external id, but not the lead that has this id. Until the transaction ends, no other transaction
 * can give the id to a lead.
 */
export const reserveExternalId = (tx: OpenTransaction, accountId: number, externalId: string): void =>
  lock.send(tx, accountId, [externalId])

/**
 * SQL: the columns of a lead `l` that make up a LockedLead. `now` becomes `updated_at`, which never goes
 * back, even if the clock does. Locking the row gives the transaction its transaction id, so the statement
 * must lock `l` in a subquery, and only then read the clock. change-horizon.ts relies on this order.
 */
export const LOCKED_LEAD = `l.id, l.number, l.version, l.user_id AS "userId", l.test AS marked, l.attributes,
  l.external_id AS "externalId",
  (SELECT email FROM users u WHERE u.account_id = l.account_id AND u.id = l.user_id) AS "userEmail",
  (SELECT api_key FROM accounts WHERE id = l.account_id) AS "accountKey",
  greatest(clock_timestamp(), l.updated_at) AS now`

// An erased lead is never found, because it has no external id.
const find = statement<LockedLead>('find-by-external-id')`
  SELECT ${LOCKED_LEAD}
  FROM (
    SELECT * FROM leads WHERE account_id = $1 AND external_id = $2 AND external_id IS NOT NULL FOR NO KEY UPDATE
  ) l`

/** Finds the lead that has the external id of an item, and locks it. */
export const findByExternalId = async (
  tx: OpenTransaction,
  { accountId, lead }: CreateLead,
): Promise<LockedLead | undefined> => {
  const [found] = await find(tx, accountId, lead!.externalId)
  return found
}
