import { randomUUID } from 'node:crypto'
import type { Idempotency } from '@leadwire/contracts'
import {
  type Answer,
  columnsOf,
  keyInUse,
  keyUsedForAnother,
  type OpenTransaction,
  ServiceError,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import { isId, isOptional, isSaid, isUuid, validate } from '../arguments'
import { inserter, insertTogether } from '../database/inserter'
import type { Operation } from '../operation'

type Key = Pick<Idempotency, 'tokenId' | 'key' | 'maxAgeS'>

// A request holds a key's lock until its transaction ends. Locks are tried, never waited for: no deadlock.
const lockKeys = statement<{ ord: number; known: boolean; locked: boolean }>('lock-keys')`
  SELECT ord::int, t.id IS NOT NULL AS known,
    pg_try_advisory_xact_lock(hashtextextended(asked.token_id || ':' || asked.key, 0)) AS locked
  FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (token_id, key, ord)
  LEFT JOIN tokens t ON t.id = asked.token_id`

const selectKeys = statement<KeyState & Key & { ageS: number }>('read-keys')`
  SELECT token_id AS "tokenId", key, fingerprint, body, claim_id AS "claimId",
    extract(epoch FROM clock_timestamp() - created_at)::float8 AS "ageS"
  FROM idempotency_keys
  WHERE (token_id, key) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
    AND (body IS NOT NULL OR claimed_until > clock_timestamp())`

// The process that has the claim renews it every three seconds. When that process dies, a retry waits no longer than this.
const CLAIM_ENDS = "clock_timestamp() + interval '10 seconds'"

const CLAIM = `
  INSERT INTO idempotency_keys (token_id, key, claim_id, claimed_until)
  VALUES ($1, $2, $3, ${CLAIM_ENDS})
  ON CONFLICT (token_id, key) DO UPDATE
  SET fingerprint = NULL, body = NULL, claim_id = excluded.claim_id, claimed_until = excluded.claimed_until,
    lead_reference = NULL, created_at = excluded.created_at`

// No lock on the key: the transaction that answers the same request must find it free.
const renew = statement('renew-key')`
  UPDATE idempotency_keys SET claimed_until = ${CLAIM_ENDS} WHERE token_id = $1 AND key = $2 AND claim_id = $3`

const release = statement('release-key')`
  DELETE FROM idempotency_keys WHERE token_id = $1 AND key = $2 AND claim_id = $3`

const nameOf = ({ tokenId, key }: Key) => `${tokenId}:${key}`

export const isIdempotency = ({ tokenId, key, fingerprint, maxAgeS }: Idempotency): boolean =>
  isId(tokenId) && isSaid(key) && fingerprint.length > 0 && isOptional(maxAgeS, isId)

/** What is known of a key: the saved answer, or the claim on it, or neither. */
type KeyState = { fingerprint: Buffer | null; body: Buffer | null; claimId: string | null }

const UNUSED: KeyState = { fingerprint: null, body: null, claimId: null }

/** Reads and locks keys in the transaction that answers them. Without a saved answer, one that another request has locked is `conflict`. */
const readKeys = async (tx: Transaction, keys: Key[]): Promise<Map<string, KeyState | ServiceError>> => {
  const values = columnsOf(keys, 'tokenId', 'key')
  const [locks, rows] = await Promise.all([
    lockKeys(tx, ...values),
    // A statement of its own, behind the locks: it sees what was saved until a lock was had.
    selectKeys(tx, ...values),
  ])
  const found = new Map(rows.map((row) => [nameOf(row), row]))
  return new Map(
    locks.map(({ ord, known, locked }) => {
      const { maxAgeS = Number.POSITIVE_INFINITY, ...key } = keys[ord - 1]!
      const name = nameOf(key)
      const saved = found.get(name)
      const state = saved && saved.ageS < maxAgeS ? saved : UNUSED
      if (state.body) return [name, state]
      if (!known) return [name, new ServiceError('not_found', 'There is no such token.')]
      return [name, locked ? state : keyInUse()]
    }),
  )
}

/**
 * Resolves the keys of requests in the transaction that answers them (IETF draft-ietf-httpapi-idempotency-key-header-07): the saved
 * answer of each, undefined for one that is still to be done. Of several with a key without an answer the first is done; the others
 * are `conflict`. `claimId` is the claim that the caller holds.
 */
export const resolveKeys = async (
  tx: Transaction,
  asked: (Idempotency | undefined)[],
  claimId?: string,
): Promise<(Answer | ServiceError | undefined)[]> => {
  const first = new Map<string, Idempotency>()
  for (const item of asked) if (item && !first.has(nameOf(item))) first.set(nameOf(item), item)
  if (first.size === 0) return asked.map(() => undefined)
  const states = await readKeys(tx, [...first.values()])
  return asked.map((item) => {
    if (!item) return undefined
    const state = states.get(nameOf(item))!
    if (state instanceof ServiceError) return state
    if (state.body)
      return state.fingerprint!.equals(item.fingerprint)
        ? { body: state.body, replayed: true }
        : keyUsedForAnother()
    const isClaimed = state.claimId !== null && state.claimId !== claimId
    return isClaimed || first.get(nameOf(item)) !== item ? keyInUse() : undefined
  })
}

/** The rows that save answers, in the transaction of their work. */
export const answersOf = inserter<{ asked: Idempotency; body: Buffer; leadReference: string | undefined }>(
  'idempotency_keys',
  [
    ['token_id', 'bigint', ({ asked }) => asked.tokenId],
    ['key', 'text', ({ asked }) => asked.key],
    ['fingerprint', 'bytea', ({ asked }) => asked.fingerprint],
    ['body', 'bytea', ({ body }) => body],
    ['lead_reference', 'uuid', ({ leadReference }) => leadReference],
  ],
  `ON CONFLICT (token_id, key) DO UPDATE
   SET fingerprint = excluded.fingerprint, body = excluded.body, claim_id = NULL, claimed_until = NULL,
     created_at = excluded.created_at, lead_reference = excluded.lead_reference`,
)

/** Runs a request with its key, if it has one: returns the saved answer, or does the work and saves its own, until its lead is erased. */
export const underKey = async (
  tx: OpenTransaction,
  asked: Idempotency | undefined,
  work: () => Promise<Buffer>,
  claimId?: string,
  leadReference?: string,
): Promise<Answer> => {
  if (!asked) return { body: await work(), replayed: false }
  validate({ idempotency: isIdempotency(asked) })
  const [resolved] = await resolveKeys(tx, [asked], claimId)
  if (resolved instanceof ServiceError) throw resolved
  if (resolved) return resolved
  const body = await work()
  insertTogether(tx, [answersOf([{ asked, body, leadReference }])])
  return { body, replayed: false }
}

/** Claims a key for a long request; others get `conflict` until it is answered, released, or no longer renewed. */
export const claimIdempotencyKey: Operation<'claimIdempotencyKey'> = ({ database }, { tokenId, key }) =>
  database.transaction(async (tx) => {
    validate({ token_id: isId(tokenId), key: isSaid(key) })
    const state = (await readKeys(tx, [{ tokenId, key }])).get(nameOf({ tokenId, key }))!
    if (state instanceof ServiceError) throw state
    const { fingerprint, body } = state
    if (fingerprint && body) return { saved: { fingerprint, body }, claimId: '' }
    if (state.claimId !== null) throw keyInUse()
    const claimId = randomUUID()
    tx.send({ text: CLAIM, values: [tokenId, key, claimId] })
    return { saved: undefined, claimId }
  })

const changingBy =
  (change: typeof renew): Operation<'renewIdempotencyKey'> =>
  async ({ database }, { tokenId, key, claimId }) => {
    validate({ token_id: isId(tokenId), key: isSaid(key), claim_id: isUuid(claimId) })
    await change(database, tokenId, key, claimId)
    return {}
  }

/** Renews a claimed key; one that another request has claimed since stays as it is. */
export const renewIdempotencyKey = changingBy(renew)

/** Releases a claimed key: the request failed, and may be sent again. */
export const releaseIdempotencyKey = changingBy(release)
