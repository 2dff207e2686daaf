import type { Transaction } from './database'
import type { Pruned } from './start-pruning'

/** Keys forgotten by one statement. */
const AT_ONCE = 1000

// Each service has such a table in its own database. By now(), which the index ends a search by; clock_timestamp() does not.
const FORGET = `
  DELETE FROM public.idempotency_keys WHERE (token_id, key) IN (
    SELECT token_id, key FROM public.idempotency_keys
    WHERE created_at < now() - $1::bigint * interval '1 ms'
    ORDER BY created_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING token_id`

const OLDEST = `
  SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 AS age
  FROM public.idempotency_keys ORDER BY created_at LIMIT 1`

/** Forgets a portion of the responses that were saved under an Idempotency-Key longer ago than `keptMs`. */
export const deleteOldKeys = async (
  database: Transaction,
  { keptMs }: { keptMs: number },
): Promise<Pruned> => {
  const rows = await database.query({ name: 'forget-old-keys', text: FORGET, values: [keptMs] })
  return { rows: rows.length, more: rows.length === AT_ONCE }
}

/** The age in seconds of the oldest saved response; 0 without one. */
export const oldestKeyAge = async (database: Transaction): Promise<number> =>
  (await database.query<{ age: number }>({ name: 'oldest-key', text: OLDEST }))[0]?.age ?? 0
