import { randomUUID } from 'node:crypto'
import type {
  ClaimIdempotencyKeyRequest,
  ClaimIdempotencyKeyResponse,
  Idempotency,
  ReleaseIdempotencyKeyRequest,
  ReleaseIdempotencyKeyResponse,
  RenewIdempotencyKeyRequest,
  RenewIdempotencyKeyResponse,
} from '@leadwire/contracts'
import {
  type Answer,
  type Database,
  keyInUse,
  keyUsedForAnother,
  type OpenTransaction,
  ServiceError,
  type Transaction,
} from '@leadwire/service-kit'
import { isId, isSaid, isUuid, validate } from '../arguments'
import { inserter, insertTogether } from '../database/inserter'

type Key = Pick<Idempotency, 'tokenId' | 'key'>

interface KeyRow {
  ord: number
  token_known: boolean
  fingerprint: Buffer | null
  body: Buffer | null
  locked: boolean | null
}

interface SavedRow extends Key {
  fingerprint: Buffer | null
  body: Buffer | null
  claimId: string | null
}

// Who has a key without an answer must lock it. The locks end with the transaction: who holds one is still on its way. They
// are tried, never waited for, so they can't be part of a deadlock.
const READ = `
  SELECT ord::int, t.id IS NOT NULL AS token_known, k.fingerprint, k.body,
    CASE WHEN k.body IS NULL
      THEN pg_try_advisory_xact_lock(hashtextextended(asked.token_id || ':' || asked.key, 0)) END AS locked
  FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (token_id, key, ord)
  LEFT JOIN tokens t ON t.id = asked.token_id
  LEFT JOIN idempotency_keys k ON k.token_id = asked.token_id AND k.key = asked.key AND k.body IS NOT NULL`

// Read after locking: an answer may have been saved between the read and the lock.
const SELECT_SAVED = `
  SELECT token_id AS "tokenId", key, fingerprint, body, claim_id AS "claimId"
  FROM idempotency_keys
  WHERE (token_id, key) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
    AND (body IS NOT NULL OR claimed_until > clock_timestamp())`

// Who claims a key renews the claim every three seconds. When that process dies, a retry waits no longer than this.
const CLAIM_ENDS = "clock_timestamp() + interval '10 seconds'"

const CLAIM = `
  INSERT INTO idempotency_keys (token_id, key, claim_id, claimed_until)
  VALUES ($1, $2, $3, ${CLAIM_ENDS})
  ON CONFLICT (token_id, key) DO UPDATE
  SET fingerprint = NULL, body = NULL, claim_id = excluded.claim_id, claimed_until = excluded.claimed_until,
    lead_reference = NULL, created_at = excluded.created_at`

// No lock on the key: the transaction that answers the same request must find it free.
const RENEW = `
  UPDATE idempotency_keys SET claimed_until = ${CLAIM_ENDS} WHERE token_id = $1 AND key = $2 AND claim_id = $3`

const RELEASE = 'DELETE FROM idempotency_keys WHERE token_id = $1 AND key = $2 AND claim_id = $3'

const nameOf = ({ tokenId, key }: Key) => `${tokenId}:${key}`

const noSuchToken = () => new ServiceError('not_found', 'There is no such token.')

/** Whether a key and a fingerprint are such as can be saved. */
export const isIdempotency = ({ tokenId, key, fingerprint }: Idempotency): boolean =>
  isId(tokenId) && isSaid(key) && fingerprint.length > 0

/** The state of a key: its answer, or why none will come, or its claim, if there is one. */
type Found =
  | { saved: { fingerprint: Buffer; body: Buffer } }
  | { error: ServiceError }
  | { claimId: string | null }

const foundOf = (row: KeyRow, later: SavedRow | undefined): Found => {
  const { fingerprint, body } = row.body || !later ? row : later
  if (fingerprint && body) return { saved: { fingerprint, body } }
  if (!row.token_known) return { error: noSuchToken() }
  return row.locked ? { claimId: later?.claimId ?? null } : { error: keyInUse() }
}

/**
 * Reads keys inside the transaction that will answer them: a saved answer is returned at once, without a
 * lock; each other key is locked until the transaction ends, and one that another request has locked is `conflict`.
 */
const readKeys = async (tx: Transaction, keys: Key[]): Promise<Map<string, Found>> => {
  const values = [keys.map(({ tokenId }) => tokenId), keys.map(({ key }) => key)]
  const rows = await tx.query<KeyRow>({ name: 'read-keys', text: READ, values })
  const later = new Map<string, SavedRow>()
  if (rows.some(({ body }) => !body)) {
    const rows = await tx.query<SavedRow>({ name: 'saved-keys', text: SELECT_SAVED, values })
    for (const row of rows) later.set(nameOf(row), row)
  }
  return new Map(
    rows.map((row) => {
      const name = nameOf(keys[row.ord - 1]!)
      return [name, foundOf(row, later.get(name))]
    }),
  )
}

/**
 * Resolves the keys of many requests inside the transaction that will answer them (IETF
 * draft-ietf-httpapi-idempotency-key-header-07): the answer to each, undefined for those still to be done. Requests
 * under a key whose answer is saved are answered with it, however many there are. Of those under a key without one the
 * first is done, and the others are `conflict`.
 *
 * `claimId` is the claim the caller holds, if it claimed its key before.
 */
export const resolveKeys = async (
  tx: Transaction,
  asked: (Idempotency | undefined)[],
  claimId?: string,
): Promise<(Answer | ServiceError | undefined)[]> => {
  const first = new Map<string, Idempotency>()
  for (const item of asked) if (item && !first.has(nameOf(item))) first.set(nameOf(item), item)
  if (first.size === 0) return asked.map(() => undefined)
  const foundOfKeys = await readKeys(tx, [...first.values()])
  return asked.map((item) => {
    if (!item) return undefined
    const found = foundOfKeys.get(nameOf(item))!
    if ('error' in found) return found.error
    if ('saved' in found) {
      const { fingerprint, body } = found.saved
      return fingerprint.equals(item.fingerprint) ? { body, replayed: true } : keyUsedForAnother()
    }
    const isClaimed = found.claimId !== null && found.claimId !== claimId
    return isClaimed || first.get(nameOf(item)) !== item ? keyInUse() : undefined
  })
}

/** The answers of requests that succeeded, to be saved in the transaction that made them true. */
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

/**
 * Runs one request under its key, if it has one: answers as before, or does the work and saves its answer, which goes when the
 * lead is erased that it is about.
 */
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
export const claimKey =
  ({ database }: { database: Database }) =>
  ({ tokenId, key }: ClaimIdempotencyKeyRequest): Promise<ClaimIdempotencyKeyResponse> =>
    database.transaction(async (tx) => {
      validate({ token_id: isId(tokenId), key: isSaid(key) })
      const found = (await readKeys(tx, [{ tokenId, key }])).get(nameOf({ tokenId, key }))!
      if ('saved' in found) return { saved: found.saved, claimId: '' }
      if ('error' in found) throw found.error
      if (found.claimId !== null) throw keyInUse()
      const claimId = randomUUID()
      await tx.query({ text: CLAIM, values: [tokenId, key, claimId] })
      return { saved: undefined, claimId }
    })

/** Renews a claimed key; one that another request has claimed since stays as it is. */
export const renewKey =
  ({ database }: { database: Database }) =>
  async ({ tokenId, key, claimId }: RenewIdempotencyKeyRequest): Promise<RenewIdempotencyKeyResponse> => {
    validate({ token_id: isId(tokenId), key: isSaid(key), claim_id: isUuid(claimId) })
    await database.query({ name: 'renew-key', text: RENEW, values: [tokenId, key, claimId] })
    return {}
  }

/** Releases a claimed key: the request failed, and may be sent again. */
export const releaseKey =
  ({ database }: { database: Database }) =>
  async ({ tokenId, key, claimId }: ReleaseIdempotencyKeyRequest): Promise<ReleaseIdempotencyKeyResponse> => {
    validate({ token_id: isId(tokenId), key: isSaid(key), claim_id: isUuid(claimId) })
    await database.query({ text: RELEASE, values: [tokenId, key, claimId] })
    return {}
  }
