import type { WebhooksServiceClient } from '@leadwire/contracts'
import {
  type Database,
  hasEnded,
  type Logger,
  type RepeatLimit,
  type Transaction,
} from '@leadwire/service-kit'

/** The stores and services that erasures and account deletions work on. */
export interface Elsewhere {
  database: Database
  logger: Logger
  /** Logs failures that repeat in each round, at a limited rate. */
  failures: RepeatLimit
  webhooks: WebhooksServiceClient
  deleteFiles: (keys: string[]) => Promise<void>
  /** Deletes the message at `sequence` from the stream, if that message still belongs to the event. */
  deleteMessage: (message: { eventId: string; sequence: number }) => Promise<void>
}

/** Returns the time by PostgreSQL's clock. */
export const databaseTime = async (db: Transaction): Promise<string> =>
  (await db.query<{ at: string }>({ text: 'SELECT clock_timestamp() AS at' }))[0]!.at

/**
 * Returns SQL that claims the jobs that have been due for longest. A claim is a lease of 30 seconds: if the
 * process dies, another process then continues the job. Each step of a job may therefore run twice.
 */
export const claimDue = (table: string, atOnce: number, returning: string) => `
  UPDATE ${table} job SET due_at = clock_timestamp() + interval '30 seconds'
  WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM ${table} WHERE finished_at IS NULL AND ${hasEnded('due_at')}
    ORDER BY due_at LIMIT ${atOnce} FOR NO KEY UPDATE SKIP LOCKED
  ))
  RETURNING ${returning}`

/**
 * Deletes the next rows of a table that meet `condition`, at most `limit`. First deletes the stored files
 * that these rows name. If the deletion of a file fails, the rows remain, so that the next call finds the
 * files again. `values` are the parameters of `condition`. The first of them must be the account. Resolves
 * with whether there were any rows.
 */
export const removeFiles = async (
  { database, deleteFiles }: Elsewhere,
  table: 'imports' | 'images' | 'attachments',
  { condition, values, limit }: { condition: string; values: unknown[]; limit: number },
): Promise<boolean> => {
  const found = await database.query<{ id: number; key: string | null }>({
    text: `SELECT id, key FROM ${table} WHERE ${condition} ORDER BY id LIMIT ${limit}`,
    values,
  })
  await deleteFiles(found.flatMap(({ key }) => key ?? []))
  await database.query({
    text: `DELETE FROM ${table} WHERE account_id = $1 AND id = ANY ($2)`,
    values: [values[0], found.map(({ id }) => id)],
  })
  return found.length > 0
}
