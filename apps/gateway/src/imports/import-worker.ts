import { Readable } from 'node:stream'
import type { ClaimedImport } from '@leadwire/contracts'
import { createLoops, type Logger, ServiceError } from '@leadwire/service-kit'
import { closeFile } from '../api/send-file'
import type { Clients } from '../clients/connect-clients'
import { VisitorLead } from '../leads/visitor-lead-fields'
import type { CreateCheck } from '../validation/checker'
import { batchesOf, type CheckRow } from './rows/batches'

/** After so long another account's import is claimed. */
const TURN_MS = 3000

interface WorkerDeps {
  clients: Pick<Clients, 'imports' | 'files'>
  check: CheckRow
  stopping: AbortSignal
}

// These errors would come again with each attempt.
const failureOf = (error: unknown): string | undefined => {
  if (!(error instanceof ServiceError)) return undefined
  if (error.code === 'not_found') return 'The file is no longer there.'
  return error.code === 'bad_request' || error.code === 'internal'
    ? 'Something went wrong on our side.'
    : undefined
}

const openRest = async ({ files }: WorkerDeps['clients'], { key, position, fileSize }: ClaimedImport) =>
  // No range starts at the end of a file.
  position < fileSize ? files.download(key, position) : { size: 0, bytes: Readable.from([]) }

/** Creates the next leads of an import. Resolves to whether the import has ended. */
const advance = async (
  { clients, check, stopping }: WorkerDeps,
  claimed: ClaimedImport,
): Promise<boolean> => {
  const { claim, columns, delimiter } = claimed
  const until = Date.now() + TURN_MS
  let from = claimed.position
  let file: Awaited<ReturnType<typeof openRest>> | undefined
  try {
    file = await openRest(clients, claimed)
    for await (const batch of batchesOf(claimed, file.bytes, check)) {
      const { goingOn } = await clients.imports.advanceImport({ claim, from, ...batch })
      if (!goingOn) return true
      from = batch.to
      if (stopping.aborted || Date.now() > until) return false
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
export const startImportWorker = (options: {
  clients: Pick<Clients, 'imports' | 'files'>
  createCheck: CreateCheck
  logger: Logger
}) => {
  const { clients, createCheck, logger } = options
  const loops = createLoops(logger)
  const deps = { clients, check: createCheck(VisitorLead), stopping: loops.signal }
  const wake = loops.run('imports', { pauseMs: 1000, idleMs: 5000 }, () =>
    claimAndAdvance(deps).catch((error: unknown) => {
      // Readiness reports a service that is unavailable.
      if (error instanceof ServiceError && error.code === 'unavailable') return 'pause'
      throw error
    }),
  )
  return {
    /** Called when an import was created. */
    wake,
    /** Resolves when the batch in flight is done. */
    stop: loops.stop,
  }
}
