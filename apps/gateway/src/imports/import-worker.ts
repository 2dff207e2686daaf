import { Readable } from 'node:stream'
import { type AdvanceImportRequest, type ClaimedImport, type ImportRow, leadCost } from '@leadwire/contracts'
import { createLoops, type Logger, ServiceError } from '@leadwire/service-kit'
import { closeFile } from '../api/send-file'
import type { Clients } from '../clients/connect-clients'
import { type CheckRow, importRow, LeadRow } from '../leads/lead-rows'
import type { CreateCheck } from '../validation/checker'
import { csvRows } from './rows/csv-rows'
import { ndjsonRows } from './rows/ndjson-rows'
import { UnreadableFile } from './rows/rows'

/** After so long another account's import is claimed. */
const SLICE_MS = 3000

/** The rows of one transaction, for which the next create of the account waits. */
const BATCH_ROWS = 100
const BATCH_COST = 300

interface WorkerDeps {
  clients: Pick<Clients, 'imports' | 'files'>
  check: CheckRow
  stopping: AbortSignal
}

const costOf = ({ row }: ImportRow): number =>
  row?.$case === 'lead' ? leadCost({ lead: row.value } as Parameters<typeof leadCost>[0]) : 1

type Batch = Omit<AdvanceImportRequest, 'claim' | 'from'>

/**
 * The rest of an import's file in batches of rows, each for one transaction. The last is finished, or says why the file can't be read
 * on. `bytes` begin at the import's position.
 */
async function* batchesOf(
  claimed: ClaimedImport,
  bytes: Readable,
  check: WorkerDeps['check'],
): AsyncGenerator<Batch> {
  const { columns, delimiter, position, fileSize, format } = claimed
  const header = { columns, delimiter }
  const source = format === 'csv' ? csvRows(bytes, position, header) : ndjsonRows(bytes, position)
  let to = position
  let rows: ImportRow[] = []
  let cost = 0
  const batch = (over: Partial<Batch> = {}): Batch => {
    const taken = { to, rows, ...header, finished: false, ...over }
    rows = []
    cost = 0
    return taken
  }
  try {
    for await (const row of source) {
      const checked = importRow(check, claimed.visitor!, row.read)
      to = row.end
      rows.push(checked)
      cost += costOf(checked)
      if (rows.length >= BATCH_ROWS || cost >= BATCH_COST) yield batch()
    }
    yield batch({ to: fileSize, finished: true })
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    yield batch({ failure: error.message })
  }
}

// These errors would come again with each attempt.
const failureOf = (error: unknown): string | undefined => {
  if (!(error instanceof ServiceError)) return undefined
  if (error.code === 'not_found') return 'The file is no longer there.'
  return /^(bad_request|internal)$/.test(error.code) ? 'Something went wrong on our side.' : undefined
}

const openRest = async ({ files }: WorkerDeps['clients'], { key, position, fileSize }: ClaimedImport) =>
  // No range starts at the end of a file.
  position < fileSize ? files.download(key, position) : { size: 0, bytes: Readable.from([]) }

/** Creates the next leads of an import. Resolves to whether the import has ended. */
const advance = async ({ clients, check, stopping }: WorkerDeps, claimed: ClaimedImport) => {
  const { claim, columns, delimiter } = claimed
  const until = Date.now() + SLICE_MS
  let from = claimed.position
  let file: Awaited<ReturnType<typeof openRest>> | undefined
  try {
    file = await openRest(clients, claimed)
    for await (const batch of batchesOf(claimed, file.bytes, check)) {
      const { goingOn } = await clients.imports.advanceImport({ claim, from, ...batch })
      if (!goingOn) return true
      from = batch.to
      if (stopping.aborted || Date.now() > until) break
    }
    return false
  } catch (error) {
    const failure = failureOf(error)
    if (failure === undefined) throw error
    const nothing = { from, to: from, rows: [], columns, delimiter, finished: false }
    await clients.imports.advanceImport({ claim, ...nothing, failure })
    throw error
  } finally {
    if (file) closeFile(file)
  }
}

/** Resolves to whether there was an import. After a failure its claim expires, and it is claimed again. */
const claimAndAdvance = async (deps: WorkerDeps): Promise<boolean> => {
  const { imports, files } = deps.clients
  const { import: claimed } = await imports.claimImport({})
  if (!claimed) return false
  const ended = claimed.state !== 'running' || (await advance(deps, claimed))
  if (ended) await files.delete(claimed.key)
  await imports.releaseImport({ claim: claimed.claim, fileDeleted: ended })
  return true
}

/** Works on one import at a time. leads-service gives each import to one copy of the gateway, and takes its rows from no other. */
export const startImportWorker = ({
  clients,
  createCheck,
  logger,
}: Pick<WorkerDeps, 'clients'> & { createCheck: CreateCheck; logger: Logger }) => {
  const loops = createLoops(logger)
  const deps = { clients, check: createCheck(LeadRow), stopping: loops.signal }
  const wake = loops.run('imports', { pauseMs: 1000, idleMs: 5000 }, () =>
    claimAndAdvance(deps).catch((error: unknown) => {
      // Readiness reports a service that is unavailable.
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
