import {
  keyInUse,
  keyUsedForAnother,
  ServiceError,
  statement,
  type WithIdempotencyKey,
} from '@leadwire/service-kit'

// Tried, never waited for: another request holds it until its transaction ends.
const lockKey = statement<{ locked: boolean }>('lock-key')`
  SELECT pg_try_advisory_xact_lock(hashtextextended($1::bigint || ':' || $2::text, 0)) AS locked`

const savedResponse = statement<{ fingerprint: Buffer; body: Buffer }>('saved-response')`
  SELECT fingerprint, body FROM public.idempotency_keys WHERE token_id = $1 AND key = $2`

const saveResponse = statement('save-response')`
  INSERT INTO public.idempotency_keys (token_id, key, fingerprint, body) VALUES ($1, $2, $3, $4)
  ON CONFLICT (token_id, key) DO UPDATE
  SET fingerprint = excluded.fingerprint, body = excluded.body, created_at = excluded.created_at`

/** Does `work` once with a key: a saved response is answered again. Throws conflict and invalid. */
export const withIdempotencyKey: WithIdempotencyKey = async (tx, asked, work) => {
  const { tokenId, key, fingerprint } = asked
  if (tokenId === 0 || key === '' || fingerprint.length === 0)
    throw new ServiceError('bad_request', 'The idempotency key of the call is not complete.')
  const [lock] = await lockKey(tx, tokenId, key)
  // Behind the lock: a request that had it before has saved its response.
  const [saved] = await savedResponse(tx, tokenId, key)
  if (!saved && !lock!.locked) throw keyInUse()
  if (saved && !saved.fingerprint.equals(fingerprint)) throw keyUsedForAnother()
  if (saved) return { body: saved.body, replayed: true }
  const body = await work()
  saveResponse.send(tx, tokenId, key, fingerprint, body)
  return { body, replayed: false }
}
