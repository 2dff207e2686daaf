import type { Idempotency } from '@leadwire/contracts'
import { ServiceError } from '../errors/service-error'
import type { OpenTransaction } from './database'
import { splitIntoColumns, statement } from './statement'

// A key is saved with its response, in the transaction that does the work
// (draft-ietf-httpapi-idempotency-key-header-07). The database of each service has the table
// `public.idempotency_keys`. `idempotency.spec.ts` proves these states of a key:
//
// - unused: there is no row, or the row is older than the request accepts. The first request locks the key
//   and does its work.
// - in flight: another transaction holds the key's advisory lock. A request gets `conflict`. No request waits
//   for the lock, so keys cause no deadlock. A crash releases the lock.
// - answered: the row has the fingerprint and the response of the first request. The same request gets this
//   response. A different request with the key gets `invalid`.

/** The response to a request. `replayed` says whether the response was saved by an earlier request. */
export interface Answer {
  body: Buffer
  replayed: boolean
}

interface SavedRow {
  tokenId: number
  key: string
  fingerprint: Buffer
  body: Buffer
  ageS: number
}

const lockKeys = statement<{ ord: number; locked: boolean }>('lock-keys')`
  SELECT ord::int, pg_try_advisory_xact_lock(hashtextextended(asked.token_id || ':' || asked.key, 0)) AS locked
  FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (token_id, key, ord)`

const readKeys = statement<SavedRow>('read-keys')`
  SELECT token_id AS "tokenId", key, fingerprint, body, extract(epoch FROM clock_timestamp() - created_at)::float8 AS "ageS"
  FROM public.idempotency_keys
  WHERE (token_id, key) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))`

const deleteKeys = statement('delete-keys')`
  DELETE FROM public.idempotency_keys
  WHERE (token_id, key) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))`

const insertAnswers = statement('save-answers')`
  INSERT INTO public.idempotency_keys (token_id, key, fingerprint, body, lead_reference)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[], $5::uuid[])`

const keyInUse = () =>
  new ServiceError('conflict', 'A request with this Idempotency-Key is still in flight. Try again shortly.', {
    retryAfterS: 1,
  })

const keyUsedForAnother = () =>
  ServiceError.invalid({
    idempotency_key: ['Another request has used this Idempotency-Key before. Use a new key.'],
  })

const nameKey = ({ tokenId, key }: Pick<Idempotency, 'tokenId' | 'key'>): string => `${tokenId}:${key}`

const keyIncomplete = () =>
  new ServiceError(
    'bad_request',
    'The idempotency key of the call needs a token id, a key and a fingerprint.',
  )

const isComplete = ({ tokenId, key, fingerprint }: Idempotency): boolean =>
  tokenId > 0 && key !== '' && fingerprint.length > 0

/** The result of a request that needs no work, or undefined if the caller must do the work. */
type Resolved = Answer | ServiceError | undefined

const resolveKey = (asked: Idempotency, saved: SavedRow | undefined, isLocked: boolean): Resolved => {
  const { maxAgeS = Number.POSITIVE_INFINITY } = asked
  const isAnswered = saved !== undefined && saved.ageS < maxAgeS
  // A saved response counts even if another transaction holds the lock, because the transaction that saved
  // the response has committed.
  if (!isAnswered) return isLocked ? undefined : keyInUse()
  if (!saved.fingerprint.equals(asked.fingerprint)) return keyUsedForAnother()
  return { body: saved.body, replayed: true }
}

/**
 * Locks the keys of requests until the transaction ends. Resolves with the saved response or the error of
 * each request, or with undefined if the caller must do the work. The caller must then call `saveAnswers` in
 * the same transaction. If several requests have the same unused key, the first one gets undefined, and the
 * others get `conflict`. A request without a key gets undefined.
 */
export const resolveKeys = async (
  tx: OpenTransaction,
  requests: (Idempotency | undefined)[],
): Promise<Resolved[]> => {
  const firsts = new Map<string, Idempotency>()
  for (const asked of requests)
    if (asked && isComplete(asked) && !firsts.has(nameKey(asked))) firsts.set(nameKey(asked), asked)
  if (firsts.size === 0) return requests.map((asked) => asked && keyIncomplete())
  const keys = [...firsts.values()]
  const columns = splitIntoColumns(keys, 'tokenId', 'key')
  const [locks, rows] = await Promise.all([
    lockKeys(tx, ...columns),
    // Reads in a separate statement after the locks. The read then sees every response that was saved before
    // a lock was taken.
    readKeys(tx, ...columns),
  ])
  const locked = new Set(locks.flatMap((row) => (row.locked ? [nameKey(keys[row.ord - 1]!)] : [])))
  const saved = new Map(rows.map((row) => [nameKey(row), row]))
  const resolved = requests.map((asked) => {
    if (!asked) return undefined
    if (!isComplete(asked)) return keyIncomplete()
    const name = nameKey(asked)
    const result = resolveKey(asked, saved.get(name), locked.has(name))
    // True if an earlier request of this batch has the same key.
    const isRepeated = firsts.get(name) !== asked
    return result === undefined && isRepeated ? keyInUse() : result
  })
  const replaced = requests.flatMap((asked, index) =>
    asked && resolved[index] === undefined && saved.has(nameKey(asked)) ? [asked] : [],
  )
  if (replaced.length > 0) deleteKeys.send(tx, ...splitIntoColumns(replaced, 'tokenId', 'key'))
  return resolved
}

/**
 * Saves the responses to requests whose keys `resolveKeys` has locked. The erasure of a lead deletes the
 * responses that were saved with the lead's reference.
 */
export const saveAnswers = (
  tx: OpenTransaction,
  answers: { asked: Idempotency; body: Buffer; leadReference?: string | undefined }[],
): void => {
  if (answers.length === 0) return
  const rows = answers.map(({ asked: { tokenId, key, fingerprint }, body, leadReference }) => ({
    tokenId,
    key,
    fingerprint,
    body,
    leadReference,
  }))
  insertAnswers.send(tx, ...splitIntoColumns(rows, 'tokenId', 'key', 'fingerprint', 'body', 'leadReference'))
}

/**
 * Resolves with the saved response of the request's idempotency key. Without a saved response, does the work
 * and saves its response. If the request has no key, does the work and saves nothing. Throws `conflict` while
 * the first request with the key is in flight. Throws `invalid` if the key was used for another request.
 */
export const answerUnderKey = async (
  tx: OpenTransaction,
  asked: Idempotency | undefined,
  work: () => Promise<Buffer>,
  leadReference?: string,
): Promise<Answer> => {
  const [resolved] = await resolveKeys(tx, [asked])
  if (resolved instanceof ServiceError) throw resolved
  if (resolved) return resolved
  const body = await work()
  if (asked) saveAnswers(tx, [{ asked, body, leadReference }])
  return { body, replayed: false }
}
