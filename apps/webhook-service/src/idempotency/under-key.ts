import {
  keyInUse,
  keyUsedForAnother,
  ServiceError,
  type Transaction,
  type WithIdempotencyKey,
} from '@leadwire/service-kit'

// Tried, never waited for: who holds it is on its way. It ends with the transaction.
const LOCK = `SELECT pg_try_advisory_xact_lock(hashtextextended($1::bigint || ':' || $2::text, 0)) AS locked`

const SELECT = `
  SELECT fingerprint, body FROM public.idempotency_keys WHERE token_id = $1 AND key = $2`

const SAVE = `
  INSERT INTO public.idempotency_keys (token_id, key, fingerprint, body) VALUES ($1, $2, $3, $4)
  ON CONFLICT (token_id, key) DO UPDATE
  SET fingerprint = excluded.fingerprint, body = excluded.body, created_at = excluded.created_at`

const savedUnder = async (tx: Transaction, values: unknown[]) => {
  const [row] = await tx.query<{ fingerprint: Buffer; body: Buffer }>({
    name: 'saved-response',
    text: SELECT,
    values,
  })
  return row
}

const lock = async (tx: Transaction, values: unknown[]): Promise<void> => {
  const [row] = await tx.query<{ locked: boolean }>({ name: 'lock-key', text: LOCK, values })
  if (!row!.locked) throw keyInUse()
}

/** Does `work` once under a key: a response that was saved is answered again. Throws conflict and invalid. */
export const underKey: WithIdempotencyKey = async (tx, asked, work) => {
  const { tokenId, key, fingerprint } = asked
  if (tokenId === 0 || key === '' || fingerprint.length === 0)
    throw new ServiceError('bad_request', 'The idempotency key of the call is not complete.')
  const values = [tokenId, key]
  // Asked again behind the lock: a response may have been saved meanwhile.
  const saved = (await savedUnder(tx, values)) ?? (await lock(tx, values).then(() => savedUnder(tx, values)))
  if (saved && !saved.fingerprint.equals(fingerprint)) throw keyUsedForAnother()
  if (saved) return { body: saved.body, replayed: true }
  const body = await work()
  tx.send({ name: 'save-response', text: SAVE, values: [...values, fingerprint, body] })
  return { body, replayed: false }
}
