import type { Pruned, Transaction } from '@leadwire/service-kit'

// The batch is small, because the deletion of an import also deletes its errors, which may be 10,000 rows.
const BATCH = 10

const DELETE_RESOLVED = `
  DELETE FROM imports WHERE (account_id, id) IN (
    SELECT account_id, id FROM imports
    WHERE key IS NULL AND finished_at < now() - interval '30 days'
    ORDER BY finished_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING id`

const OLDEST = `
  SELECT extract(epoch FROM clock_timestamp() - finished_at)::float8 AS age
  FROM imports WHERE key IS NULL ORDER BY finished_at LIMIT 1`

/** Prunes imports that ended at least 30 days ago, with the errors of their rows. */
export const oldImports = (database: Transaction) => ({
  batch: async (): Promise<Pruned> => {
    const rows = await database.query({ text: DELETE_RESOLVED })
    return { rows: rows.length, more: rows.length === BATCH }
  },
  oldestAge: async (): Promise<number> =>
    (await database.query<{ age: number }>({ text: OLDEST }))[0]?.age ?? 0,
})
