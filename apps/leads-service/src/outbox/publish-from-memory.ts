import type { Logger } from '@leadwire/service-kit'
import type { PublishUnconfirmed } from './publish'
import type { OutboxEvent } from './record-events'

/** Beyond it events wait for the sweep. */
const MAX_IN_FLIGHT = 5000

/**
 * Publishes events whose transaction has committed without reading them again. Their rows stand as published already: the sweep deletes
 * them when webhook-service holds the events, and has the others published again.
 */
export const createPublishFromMemory = ({
  publish,
  logger,
}: {
  publish: PublishUnconfirmed
  logger: Logger
}) => {
  let count = 0
  const inFlight = new Set<Promise<void>>()
  return {
    enqueue: (events: OutboxEvent[]): void => {
      const some = events.slice(0, MAX_IN_FLIGHT - count)
      if (some.length === 0) return
      count += some.length
      const publishing = publish(some)
        .catch((error) => logger.debug({ err: error, events: some.length }, 'left to the sweep'))
        .finally(() => {
          count -= some.length
          inFlight.delete(publishing)
        })
      inFlight.add(publishing)
    },
    /** Resolves when all of it is published, or left to the sweep. */
    finished: async (): Promise<void> => void (await Promise.all(inFlight)),
  }
}
