import type { Transaction } from './database'
import type { Pruned } from './start-pruning'

/** Keys deleted by one statement. */
const AT_ONCE = 1000

// Each service has this table in its own database. now(), because the index can't bound a search by clock_timestamp().
const DELETE = `
  DELETE FROM public.idempotency_keys WHERE (token_id, key) IN (
    SELECT token_id, key FROM public.idempotency_keys
    WHERE created_at < now() - $1::bigint * interval '1 ms'
    ORDER BY created_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING token_id`

const OLDEST = `
  SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 AS age
  FROM public.idempotency_keys ORDER BY created_at LIMIT 1`

/** Deletes a batch of the responses that were saved with an Idempotency-Key more than `keptMs` ago. */
export const deleteOldKeys = async (
  database: Transaction,
  { keptMs }: { keptMs: number },
): Promise<Pruned> => {
  const rows = await database.query({ name: 'delete-old-keys', text: DELETE, values: [keptMs] })
  return { rows: rows.length, more: rows.length === AT_ONCE }
}

/** The age in seconds of the oldest saved response; 0 without one. */
export const oldestKeyAge = async (database: Transaction): Promise<number> =>
  (await database.query<{ age: number }>({ name: 'oldest-key', text: OLDEST }))[0]?.age ?? 0
