import { createLoops, type Database, type Logger } from '@leadwire/service-kit'
import type { Publish, PublishUnconfirmed } from './publish'
import { createPublishFromMemory } from './publish-from-memory'
import { relayOnce } from './relay'
import type { StreamPosition } from './stream-position'
import { type FindStoredEvents, sweepOnce } from './sweep'

export type Outbox = ReturnType<typeof startOutbox>

/**
 * Publishes events from the memory of the process that committed them. A sweep every two seconds finds what a crash or an unavailable
 * broker kept from being published, and the relay publishes it again within half a second.
 */
export const startOutbox = (deps: {
  database: Database
  publish: Publish
  publishUnconfirmed: PublishUnconfirmed
  findStoredEvents: (eventIds: string[], signal: AbortSignal) => ReturnType<FindStoredEvents>
  findPosition: () => Promise<StreamPosition>
  logger: Logger
}) => {
  const fromMemory = createPublishFromMemory({ publish: deps.publishUnconfirmed, logger: deps.logger })
  const loops = createLoops(deps.logger)
  loops.run('outbox relay', 500, () => relayOnce(deps))
  const findStoredEvents = (eventIds: string[]) => deps.findStoredEvents(eventIds, loops.signal)
  loops.run('outbox sweep', 2000, () => sweepOnce({ ...deps, findStoredEvents }))
  return {
    /** Publishes events that this process has just committed. */
    enqueue: fromMemory.enqueue,
    /** Resolves when what was enqueued has been published, or left to the sweep, and the rounds in flight are over. */
    stop: async (): Promise<void> => {
      await fromMemory.settled()
      await loops.stop()
    },
  }
}
