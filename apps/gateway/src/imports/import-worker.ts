import { Readable } from 'node:stream'
import type { ClaimedImport } from '@leadwire/contracts'
import { createLoops, type Logger, ServiceError } from '@leadwire/service-kit'
import { closeFile } from '../attachments/serve-file'
import type { Clients } from '../clients'
import { VisitorLead } from '../leads/visitor-lead-fields'
import type { CreateCheck } from '../validation/checker'
import { type CheckRow, portionsOf } from './portions'

/** So long one is worked on; then it is the turn of another account. */
const TURN_MS = 3000

interface WorkerDeps {
  clients: Pick<Clients, 'imports' | 'files'>
  check: CheckRow
  stopping: AbortSignal
}

// The file is gone, or holds what nobody foresaw: it would fail in the same way for ever.
const failureOf = (error: unknown): string | undefined => {
  if (!(error instanceof ServiceError)) return undefined
  if (error.code === 'not_found') return 'The file is no longer there.'
  return error.code === 'bad_request' || error.code === 'internal'
    ? 'Something went wrong on our side.'
    : undefined
}

const openRest = async ({ files }: WorkerDeps['clients'], { key, position, fileSize }: ClaimedImport) =>
  // Of what is empty no range can be asked for.
  position < fileSize ? files.download(key, position) : { size: 0, bytes: Readable.from([]) }

/** Works on an import for a turn. Resolves with whether it has ended. */
const workOn = async ({ clients, check, stopping }: WorkerDeps, claimed: ClaimedImport): Promise<boolean> => {
  const { claim } = claimed
  const until = Date.now() + TURN_MS
  let from = claimed.position
  let file: Awaited<ReturnType<typeof openRest>> | undefined
  try {
    file = await openRest(clients, claimed)
    for await (const portion of portionsOf(claimed, file.bytes, check)) {
      const { goingOn } = await clients.imports.advanceImport({ claim, from, ...portion })
      if (!goingOn) return true
      from = portion.to
      if (stopping.aborted || Date.now() > until) return false
    }
    return false
  } catch (error) {
    const failure = failureOf(error)
    if (failure === undefined) throw error
    const { columns, delimiter } = claimed
    const nothing = { from, to: from, rows: [], columns, delimiter, finished: false }
    await clients.imports.advanceImport({ claim, ...nothing, failure })
    throw error
  } finally {
    if (file) closeFile(file)
  }
}

/** Resolves with whether there was anything to do. After a failure the claim ends by itself, and the import is claimed again. */
const takeTurn = async (deps: WorkerDeps): Promise<boolean> => {
  const { imports, files } = deps.clients
  const { import: claimed } = await imports.claimImport({})
  if (!claimed) return false
  const ended = claimed.state !== 'running' || (await workOn(deps, claimed))
  if (ended) await files.delete(claimed.key)
  await imports.releaseImport({ claim: claimed.claim, fileDeleted: ended })
  return true
}

/**
 * Works on imports, one at a time and in turns. Any number of copies may: leads-service gives each import to one of them, and takes
 * rows from nobody else.
 */
export const startImportWorker = (options: {
  clients: Pick<Clients, 'imports' | 'files'>
  createCheck: CreateCheck
  logger: Logger
}) => {
  const { clients, createCheck, logger } = options
  const loops = createLoops(logger)
  const deps = { clients, check: createCheck(VisitorLead), stopping: loops.signal }
  const wake = loops.run('imports', { pauseMs: 1000, idleMs: 5000 }, () =>
    takeTurn(deps).catch((error: unknown) => {
      // A service that starts or is rolled is told of by readiness.
      if (error instanceof ServiceError && error.code === 'unavailable') return 'pause'
      throw error
    }),
  )
  return {
    /** Says that there is an import. */
    wake,
    /** Resolves when the portion under way is done. */
    stop: loops.stop,
  }
}
