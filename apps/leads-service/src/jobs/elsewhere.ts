import type { WebhooksServiceClient } from '@leadwire/contracts'
import type { Database, Logger, Transaction } from '@leadwire/service-kit'

/** What erasures and account deletions need, beyond this service's database too. */
export interface Elsewhere {
  database: Database
  logger: Logger
  webhooks: WebhooksServiceClient
  deleteFiles: (keys: string[]) => Promise<void>
  /** Deletes a message from the stream, if it still is the event's. */
  deleteMessage: (message: { eventId: string; sequence: number }) => Promise<void>
}

/** The time by PostgreSQL's clock. */
export const databaseTime = async (db: Transaction): Promise<string> =>
  (await db.query<{ at: string }>({ text: 'SELECT clock_timestamp() AS at' }))[0]!.at

/**
 * SQL that claims jobs that are due, those that wait longest. A lease: when a process dies, another continues where it stopped.
 * What is done twice is as if it were done once.
 */
export const claimDue = (table: string, atOnce: number, returning: string) => `
  UPDATE ${table} job SET due_at = clock_timestamp() + interval '30 seconds'
  WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM ${table} WHERE finished_at IS NULL AND due_at <= clock_timestamp()
    ORDER BY due_at LIMIT ${atOnce} FOR NO KEY UPDATE SKIP LOCKED
  ))
  RETURNING ${returning}`

/**
 * Deletes the stored files of the next rows of a table, and then the rows, which say where the files are. `condition` may use
 * $1, the account, and $2. Resolves with whether there were any.
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
