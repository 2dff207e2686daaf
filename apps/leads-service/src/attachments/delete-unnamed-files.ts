import { setTimeout as pause } from 'node:timers/promises'
import { type Database, type Logger, type Pruned, statement } from '@leadwire/service-kit'
import type { FilesService } from './files-service'

/**
 * The minimum age of a file that is deleted because it has no record, in seconds. An hour is safe: a gateway
 * stores a file and writes its record in the same request, and a request ends within 6 minutes.
 */
const UNNAMED_FOR_S = 3600
const BATCH_PAUSE_MS = 100
const DELETED_AT_MOST = 10_000
/**
 * The largest plausible number of files without a record: `count`, or the `share` of all listed files,
 * whichever is more. Aborted requests leave only a few such files. A larger number probably means that the
 * database does not belong to the file store. No file is then deleted.
 */
const PLAUSIBLE = { count: 100, share: 0.01 }

// Lets only one copy of the service delete files at a time. The transaction exists only to hold the lock. If
// the process dies, PostgreSQL ends the transaction, and thereby releases the lock.
const LOCK = `SELECT pg_try_advisory_xact_lock(hashtextextended('unnamed files', 0)) AS locked`
const LASTING = 'SET LOCAL idle_in_transaction_session_timeout = 0'

const findUnnamed = statement<{ key: string }>('find-unnamed-files')`
  SELECT f.key FROM unnest($1::text[]) AS f (key)
  WHERE NOT EXISTS (SELECT FROM attachments t WHERE t.key = f.key)
    AND NOT EXISTS (SELECT FROM images m WHERE m.key = f.key)
    AND NOT EXISTS (SELECT FROM imports i WHERE i.key = f.key)`

interface Deps extends FilesService {
  database: Database
  logger: Logger
  /** Aborts a round, which may take many minutes. */
  signal: AbortSignal
}

const deleteUnnamed = async ({ database, listFiles, deleteFiles, logger, signal }: Deps): Promise<number> => {
  const unnamed: string[] = []
  let listed = 0
  for await (const keys of listFiles(UNNAMED_FOR_S, signal)) {
    listed += keys.length
    unnamed.push(...(await findUnnamed(database, keys)).map(({ key }) => key))
    if (unnamed.length >= DELETED_AT_MOST) break
    await pause(BATCH_PAUSE_MS)
  }
  if (unnamed.length > Math.max(PLAUSIBLE.count, PLAUSIBLE.share * listed)) {
    const counts = { unnamed: unnamed.length, listed }
    logger.error(counts, 'no stored file is deleted: too many of them have no record in this database')
    return 0
  }
  await deleteFiles(unnamed, signal)
  return unnamed.length
}

/**
 * Deletes stored files without a record, such as the files of aborted uploads. First lists the stored files,
 * until 10,000 files without a record are found or the list ends. Then deletes the files without a record, if
 * their number is plausible (PLAUSIBLE). Only one copy of the service does so at a time.
 */
export const deleteUnnamedFiles = (deps: Deps): Promise<Pruned> =>
  deps.database.transaction(async (tx) => {
    tx.send({ text: LASTING })
    const [lock] = await tx.query<{ locked: boolean }>({ text: LOCK })
    return { rows: lock!.locked ? await deleteUnnamed(deps) : 0, more: false }
  })
