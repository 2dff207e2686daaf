import { randomUUID } from 'node:crypto'
import type { Idempotency } from '@leadwire/contracts'
import { type OpenTransaction, ServiceError, type Transaction } from '@leadwire/service-kit'

/** What a key says of a request that carries it: go on, or be answered as the first time, or be refused. */
export type KeyVerdict =
  | { proceed: true }
  | { proceed: false; body: Buffer }
  | { proceed: false; error: ServiceError }

interface KeyRow {
  ord: number
  free: boolean
}

interface SavedRow {
  token_id: number
  key: string
  fingerprint: Buffer | null
  body: Buffer | null
  claim_id: string | null
}

// Locks that end with the transaction: who holds one is still on its way. They are tried, never waited for, so they
// can't be part of a deadlock.
const TRY_LOCKS = `
  SELECT ord::int, pg_try_advisory_xact_lock(hashtextextended(token_id || ':' || key, 0)) AS free
  FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (token_id, key, ord)`

const SELECT_SAVED = `
  SELECT token_id, key, fingerprint, body, claim_id
  FROM idempotency_keys
  WHERE (token_id, key) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
    AND created_at > clock_timestamp() - interval '24 hours'
    AND (body IS NOT NULL OR claimed_until > clock_timestamp())`

const SAVE = `
  INSERT INTO idempotency_keys (token_id, key, fingerprint, body)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[])
  ON CONFLICT (token_id, key) DO UPDATE
  SET fingerprint = excluded.fingerprint, body = excluded.body, claim_id = NULL, claimed_until = NULL,
    created_at = excluded.created_at`

const CLAIM = `
  INSERT INTO idempotency_keys (token_id, key, claim_id, claimed_until)
  VALUES ($1, $2, $3, clock_timestamp() + interval '6 minutes')
  ON CONFLICT (token_id, key) DO UPDATE
  SET fingerprint = NULL, body = NULL, claim_id = excluded.claim_id, claimed_until = excluded.claimed_until,
    created_at = excluded.created_at`

const RELEASE = 'DELETE FROM idempotency_keys WHERE token_id = $1 AND key = $2 AND claim_id = $3'

const FORGET = `DELETE FROM idempotency_keys WHERE created_at < clock_timestamp() - interval '24 hours'`

const nameOf = ({ tokenId, key }: { tokenId: number; key: string }) => `${tokenId}:${key}`

const inFlight = () =>
  new ServiceError('conflict', 'A request with this Idempotency-Key is still in flight. Try again shortly.')

const usedForAnother = () =>
  ServiceError.invalid({ idempotency_key: ['This Idempotency-Key was used before for another request.'] })

const verdictOf = (saved: SavedRow | undefined, asked: Idempotency, claimId?: string): KeyVerdict => {
  if (!saved) return { proceed: true }
  if (!saved.body || !saved.fingerprint) {
    return saved.claim_id === claimId ? { proceed: true } : { proceed: false, error: inFlight() }
  }
  return saved.fingerprint.equals(asked.fingerprint)
    ? { proceed: false, body: saved.body }
    : { proceed: false, error: usedForAnother() }
}

/**
 * Looks up the keys of many requests inside the transaction that will answer them (IETF
 * draft-ietf-httpapi-idempotency-key-header-07). A key is locked until that transaction ends; one that another
 * transaction or an earlier request of the same batch holds is `conflict`.
 *
 * `claimId` is the claim the caller holds, if it claimed its key before.
 */
export const judgeKeys = async (
  tx: Transaction,
  asked: Idempotency[],
  claimId?: string,
): Promise<KeyVerdict[]> => {
  if (asked.length === 0) return []
  const first = new Map<string, Idempotency>()
  for (const item of asked) if (!first.has(nameOf(item))) first.set(nameOf(item), item)
  const unique = [...first.values()]
  const values = [unique.map(({ tokenId }) => tokenId), unique.map(({ key }) => key)]
  const locks = await tx.query<KeyRow>({ name: 'lock-keys', text: TRY_LOCKS, values })
  const locked = new Set(locks.filter(({ free }) => free).map(({ ord }) => unique[ord - 1]!))
  const rows = await tx.query<SavedRow>({ name: 'saved-keys', text: SELECT_SAVED, values })
  const saved = new Map(rows.map((row) => [nameOf({ tokenId: row.token_id, key: row.key }), row]))
  return asked.map((item) =>
    locked.has(item)
      ? verdictOf(saved.get(nameOf(item)), item, claimId)
      : { proceed: false, error: inFlight() },
  )
}

/** Saves the answers of requests that succeeded, in the transaction that made them true. */
export const saveAnswers = (tx: OpenTransaction, answers: { asked: Idempotency; body: Buffer }[]): void => {
  if (answers.length === 0) return
  tx.send({
    name: 'save-answers',
    text: SAVE,
    values: [
      answers.map(({ asked }) => asked.tokenId),
      answers.map(({ asked }) => asked.key),
      answers.map(({ asked }) => asked.fingerprint),
      answers.map(({ body }) => body),
    ],
  })
}

/** Runs one request under its key, if it has one: answers as before, or does the work and saves its answer. */
export const underKey = async (
  tx: OpenTransaction,
  asked: Idempotency | undefined,
  work: () => Promise<Buffer>,
  claimId?: string,
): Promise<Buffer> => {
  if (!asked) return work()
  const [verdict] = await judgeKeys(tx, [asked], claimId)
  if (verdict && !verdict.proceed) {
    if ('error' in verdict) throw verdict.error
    return verdict.body
  }
  const body = await work()
  saveAnswers(tx, [{ asked, body }])
  return body
}

/** Holds a key for a request that takes long; others are told `conflict` until it is answered, released or six minutes old. */
export const claimKey = async (
  tx: Transaction,
  { tokenId, key }: { tokenId: number; key: string },
): Promise<{ saved: { fingerprint: Buffer; body: Buffer } } | { claimId: string }> => {
  const values = [[tokenId], [key]]
  const [lock] = await tx.query<KeyRow>({ text: TRY_LOCKS, values })
  if (!lock?.free) throw inFlight()
  const [row] = await tx.query<SavedRow>({ text: SELECT_SAVED, values })
  if (row?.body && row.fingerprint) return { saved: { fingerprint: row.fingerprint, body: row.body } }
  if (row) throw inFlight()
  const claimId = randomUUID()
  await tx.query({ text: CLAIM, values: [tokenId, key, claimId] })
  return { claimId }
}

/** Gives a claimed key back: the request failed, and may be sent again. */
export const releaseKey = async (
  tx: Transaction,
  { tokenId, key, claimId }: { tokenId: number; key: string; claimId: string },
): Promise<void> => {
  await tx.query({ text: RELEASE, values: [tokenId, key, claimId] })
}

/** Forgets answers older than 24 hours. */
export const forgetOldKeys = async (tx: Transaction): Promise<void> => {
  await tx.query({ text: FORGET })
}
