import { Readable } from 'node:stream'
import { type AdvanceImportRequest, type ClaimedImport, type ImportRow, leadCost } from '@leadwire/contracts'
import type { CreateCheck } from '@leadwire/requests'
import { createLoops, type Logger, ServiceError } from '@leadwire/service-kit'
import { closeFile } from '../api/send-file'
import type { Clients } from '../clients/connect-clients'
import { type CheckRow, ImportedLead, importRow } from '../leads/lead-rows'
import { csvRows } from './rows/csv-rows'
import { collectIgnored } from './rows/ignored-columns'
import { ndjsonRows } from './rows/ndjson-rows'
import { UnreadableFile } from './rows/rows'

/** After this time the worker releases the import, so that another account's import can be claimed. */
const SLICE_MS = 3000

/**
 * The maximum number of rows in one transaction. This number is small, because other creates of the account
 * wait for the transaction to end.
 */
const BATCH_ROWS = 100
const BATCH_COST = 300

interface WorkerDeps {
  clients: Pick<Clients, 'imports' | 'files'>
  check: CheckRow
  timeZone: string
  stopping: AbortSignal
}

/** The maximum length of the text that is stored for a refused row. A longer text is not stored. */
const MAX_SOURCE_CHARACTERS = 256 * 1024

const estimateCost = ({ row }: ImportRow): number =>
  row?.$case === 'lead' ? leadCost({ lead: row.value } as Parameters<typeof leadCost>[0]) : 1

type Batch = Omit<AdvanceImportRequest, 'claim' | 'from'>

/**
 * Yields the rest of an import's file in batches of rows. `bytes` must begin at the import's position. Each
 * batch is written in one transaction. The last batch has `finished`, or has `failure` with the reason why
 * the rest cannot be read.
 */
async function* readBatches(
  claimed: ClaimedImport,
  bytes: Readable,
  { check, timeZone }: Pick<WorkerDeps, 'check' | 'timeZone'>,
): AsyncGenerator<Batch> {
  const { columns, delimiter, position, fileSize, format } = claimed
  const header = { columns, delimiter }
  const ignored = collectIgnored(claimed.ignoredColumns)
  const source =
    format === 'csv' ? csvRows(bytes, position, { header, ignored }) : ndjsonRows(bytes, position, ignored)
  let to = position
  let rows: ImportRow[] = []
  let cost = 0
  const batch = (over: Partial<Batch> = {}): Batch => {
    const taken = { to, rows, ...header, ignoredColumns: ignored.list(), finished: false, ...over }
    rows = []
    cost = 0
    return taken
  }
  try {
    for await (const row of source) {
      const checked = importRow(check, claimed.visitor!, row.read, timeZone)
      const source = row.source()
      to = row.end
      rows.push({ ...checked, source: source.length > MAX_SOURCE_CHARACTERS ? undefined : source })
      cost += Math.max(estimateCost(checked), source.length / 1000)
      if (rows.length >= BATCH_ROWS || cost >= BATCH_COST) yield batch()
    }
    yield batch({ to: fileSize, finished: true })
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    yield batch({ failure: error.message })
  }
}

// Returns a reason if every further attempt would fail with the same error, otherwise undefined. Even an
// internal error may be temporary, such as a response of a proxy. The import is retried until it is 24 hours
// old.
const describeLastingFailure = (error: unknown): string | undefined => {
  if (!(error instanceof ServiceError)) return undefined
  if (error.code === 'not_found')
    return 'The stored file of the import was deleted. Start another import with the file.'
  return error.code === 'bad_request'
    ? 'An internal error occurred. Report the ID of the import to the operator.'
    : undefined
}

const openRest = async ({ files }: WorkerDeps['clients'], { key, position, fileSize }: ClaimedImport) =>
  // Requests no bytes at the end of the file, because a range that starts there would be invalid.
  position < fileSize ? files.download(key, position) : { size: 0, bytes: Readable.from([]) }

/** Creates the next leads of an import. Resolves with whether the import has ended. */
const advance = async (deps: WorkerDeps, claimed: ClaimedImport) => {
  const { clients, stopping } = deps
  const { claim, columns, delimiter, ignoredColumns } = claimed
  const until = Date.now() + SLICE_MS
  let from = claimed.position
  let file: Awaited<ReturnType<typeof openRest>> | undefined
  try {
    file = await openRest(clients, claimed)
    for await (const batch of readBatches(claimed, file.bytes, deps)) {
      const { running } = await clients.imports.advanceImport({ claim, from, ...batch })
      if (!running) return true
      from = batch.to
      if (stopping.aborted || Date.now() > until) break
    }
    return false
  } catch (error) {
    const failure = describeLastingFailure(error)
    if (failure === undefined) throw error
    const nothing = { from, to: from, rows: [], columns, delimiter, ignoredColumns, finished: false }
    await clients.imports.advanceImport({ claim, ...nothing, failure })
    throw error
  } finally {
    if (file) closeFile(file)
  }
}

/**
 * Claims an import and advances it. Resolves with whether an import was claimed. If the work on the import
 * fails, the claim expires, and a worker claims the import again.
 */
const claimAndAdvance = async (deps: WorkerDeps): Promise<boolean> => {
  const { imports, files } = deps.clients
  const { import: claimed } = await imports.claimImport({})
  if (!claimed) return false
  const ended = claimed.state !== 'running' || (await advance(deps, claimed))
  if (ended) await files.delete(claimed.key)
  await imports.releaseImport({ claim: claimed.claim, fileDeleted: ended })
  return true
}

/**
 * Starts the worker, which works on one import at a time. leads-service assigns each import to only one copy
 * of the gateway at a time, and refuses rows of this import from all other copies.
 */
export const startImportWorker = ({
  clients,
  createCheck,
  timeZone,
  logger,
}: Pick<WorkerDeps, 'clients' | 'timeZone'> & { createCheck: CreateCheck; logger: Logger }) => {
  const loops = createLoops(logger)
  const deps = { clients, check: createCheck(ImportedLead), timeZone, stopping: loops.signal }
  const wake = loops.run('imports', { pauseMs: 1000, idleMs: 5000 }, () =>
    claimAndAdvance(deps).catch((error: unknown) => {
      // Does not log an unavailable service, because the readiness check reports the service.
      if (error instanceof ServiceError && error.code === 'unavailable') return 'pause'
      throw error
    }),
  )
  return {
    wake,
    /** Resolves when the batch in flight is done. */
    stop: loops.stop,
  }
}
