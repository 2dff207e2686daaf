import type { Database, Logger } from '@leadwire/service-kit'
import { forgetOldKeys } from '../idempotency/idempotency-keys'
import { startLoop } from './loop'
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
  const loops = [
    startLoop({
      name: 'outbox relay',
      pauseMs: 500,
      work: () => relayOnce({ ...deps, except: fromMemory.underWay() }),
      logger,
    }),
    startLoop({ name: 'outbox sweep', pauseMs: 2000, work: () => sweepOnce(deps), logger }),
    startLoop({
      name: 'idempotency keys',
      pauseMs: 600_000,
      work: () => forgetOldKeys(database).then(() => false),
      logger,
    }),
  ]
  return {
    /** Has events published that this process has just committed. */
    handOver: fromMemory.handOver,
    /** Resolves when what was handed over has been published, or left to the outbox, and the rounds under way are over. */
    stop: async (): Promise<void> => {
      await fromMemory.settled()
      for (const loop of loops) await loop.stop()
    },
  }
}
