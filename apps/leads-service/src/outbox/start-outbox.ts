import { createLoops, type Database, type Logger } from '@leadwire/service-kit'
import type { Publish } from './publish'
import { createPublishFromMemory } from './publish-from-memory'
import { relayOnce } from './relay'
import type { StreamPosition } from './stream-position'
import { type FindHeldEvents, sweepOnce } from './sweep'

export type Outbox = ReturnType<typeof startOutbox>

/**
 * Publishes events at once from the memory of the process that committed them; what is left in the outbox, by a crash
 * or while the broker was unavailable, is found by a look every half second. Sweeps every two seconds.
 */
export const startOutbox = (deps: {
  database: Database
  publish: Publish
  findHeldEvents: (eventIds: string[], signal: AbortSignal) => ReturnType<FindHeldEvents>
  findPosition: () => Promise<StreamPosition>
  logger: Logger
}) => {
  const fromMemory = createPublishFromMemory(deps)
  const loops = createLoops(deps.logger)
  loops.run('outbox relay', 500, () => relayOnce({ ...deps, except: fromMemory.underWay() }))
  const findHeldEvents = (eventIds: string[]) => deps.findHeldEvents(eventIds, loops.signal)
  loops.run('outbox sweep', 2000, () => sweepOnce({ ...deps, findHeldEvents }))
  return {
    /** Has events published that this process has just committed. */
    handOver: fromMemory.handOver,
    /** Resolves when what was handed over has been published, or left to the outbox, and the rounds under way are over. */
    stop: async (): Promise<void> => {
      await fromMemory.settled()
      await loops.stop()
    },
  }
}
