import { type Database, type Logger, untilSuccess } from '@leadwire/service-kit'
import type { AttemptsUnderWay } from './attempts-under-way'
import { takeBackUnknown } from './take-back-claims'
import { openWorkerSession, type WorkerSession } from './worker-session'

/**
 * Many accounts' events wait for what is stored together, so it may wait for nobody: not for a lock that a change of an
 * endpoint holds, and not for a fan-out that is larger than was known. Whoever is late is stored apart.
 */
const TOGETHER = `SELECT set_config('lock_timeout', '100ms', false), set_config('statement_timeout', '1s', false)`

const ENDED = new Error('the intake ends')

/** Keeps a session of the intake's worker open until it is stopped, and opens another when one is lost. */
export const keepIntakeSession = (options: {
  database: Database
  workerId: number
  attempts: AttemptsUnderWay
  signal: AbortSignal
  logger: Logger
}) => {
  const { database, workerId, attempts, signal, logger } = options
  let session: WorkerSession | undefined
  let ended = false
  let lose: (error: unknown) => void = () => undefined

  const keep = async () => {
    const opened = await openWorkerSession(database, workerId)
    try {
      await takeBackUnknown(opened, [workerId], attempts.claimedBy(workerId))
      await opened.query({ text: TOGETHER })
      session = opened
      await new Promise((_, reject) => {
        lose = reject
        opened.lost.then(reject)
        if (ended) reject(ENDED)
      })
    } finally {
      session = undefined
      await opened.close()
    }
  }
  const running = untilSuccess(keep, {
    signal,
    pauseMs: 250,
    onFailure: (error) => {
      if (!signal.aborted) logger.warn({ err: error }, 'fresh deliveries wait to be claimed')
    },
  }).catch(() => undefined)

  return {
    /** Undefined while the database is away. */
    session: (): WorkerSession | undefined => session,
    /** Closes a session whose claims are in doubt; the next one takes them back. */
    lose: (error: unknown): void => lose(error),
    stop: async (): Promise<void> => {
      ended = true
      lose(ENDED)
      await running
    },
  }
}
