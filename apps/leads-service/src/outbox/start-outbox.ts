import { createLoops, type Database, type Logger } from '@leadwire/service-kit'
import type { Publish, PublishUnconfirmed } from './publish'
import { createPublishFromMemory } from './publish-from-memory'
import type { OutboxEvent } from './record-events'
import { relayOnce } from './relay'
import type { StreamPosition } from './stream-position'
import { type FindStoredEvents, sweepOnce } from './sweep'

export type Outbox = ReturnType<typeof startOutbox>

/**
 * Publishes events from the memory of the process that committed them. A sweep finds what a crash or an unavailable broker kept from
 * being published, every 2 s while events are committed and every 5 s otherwise, and wakes the relay, which publishes it again.
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
  const wakeRelay = loops.run('outbox relay', { pauseMs: 500, idleMs: 5000 }, () => relayOnce(deps))
  const findStoredEvents = (eventIds: string[]) => deps.findStoredEvents(eventIds, loops.signal)
  const wakeSweep = loops.run('outbox sweep', { pauseMs: 2000, idleMs: 5000 }, async () => {
    const round = await sweepOnce({ ...deps, findStoredEvents })
    if (round !== false) wakeRelay()
    return round
  })
  return {
    /** Publishes events that this process has just committed. */
    enqueue: (events: OutboxEvent[]): void => {
      fromMemory.enqueue(events)
      wakeSweep()
    },
    /** Resolves when what was enqueued has been published, or left to the sweep, and the rounds in flight are over. */
    stop: async (): Promise<void> => {
      await fromMemory.finished()
      await loops.stop()
    },
  }
}
