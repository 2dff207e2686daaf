import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Logger } from '@leadwire/service-kit'
import { forgetOldKeys } from '../idempotency/idempotency-keys'
import type { Publish } from './publish'
import { createPublishFromMemory } from './publish-from-memory'
import { relayOnce } from './relay'
import { type FindHeldEvents, sweepOnce } from './sweep'

export type Outbox = ReturnType<typeof startOutbox>

/**
 * Publishes events at once from the memory of the process that committed them; what is left in the outbox, by a crash
 * or while the broker was away, is found by a look every half second. Sweeps every two seconds, and forgets old
 * idempotency keys every ten minutes.
 */
export const startOutbox = (deps: {
  database: Database
  publish: Publish
  findHeldEvents: FindHeldEvents
  logger: Logger
}) => {
  const { database, logger } = deps
  const fromMemory = createPublishFromMemory(deps)
  const stopping = new AbortController()

  // Does `work` again and again: at once while it says there is more, else after a pause. A failure is logged and tried again
  // after the pause. Resolves when the round that is under way is over, after the stop.
  const runLoop = async (name: string, pauseMs: number, work: () => Promise<boolean>) => {
    while (!stopping.signal.aborted) {
      const more = await work().catch((error: unknown) => {
        logger.warn({ err: error, loop: name }, 'a round failed')
        return false
      })
      if (!more) await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const loops = [
    runLoop('outbox relay', 500, () => relayOnce({ ...deps, except: fromMemory.underWay() })),
    runLoop('outbox sweep', 2000, () => sweepOnce(deps)),
    runLoop('idempotency keys', 600_000, () => forgetOldKeys(database).then(() => false)),
  ]
  return {
    /** Has events published that this process has just committed. */
    handOver: fromMemory.handOver,
    /** Resolves when what was handed over has been published, or left to the outbox, and the rounds under way are over. */
    stop: async (): Promise<void> => {
      await fromMemory.settled()
      stopping.abort()
      await Promise.all(loops)
    },
  }
}
