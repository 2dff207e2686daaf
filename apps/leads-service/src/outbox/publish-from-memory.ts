import type { Logger } from '@leadwire/service-kit'
import type { Publish } from './publish'
import type { OutboxEvent } from './record-events'

/** Beyond it events wait for the sweep. */
const MAX_IN_FLIGHT = 5000

/**
 * Publishes events whose transaction has committed without reading them again. Their rows stand as published already: the sweep deletes
 * them when webhook-service holds the events, and publishes again what failed here.
 */
export const createPublishFromMemory = ({ publish, logger }: { publish: Publish; logger: Logger }) => {
  const inFlight = new Set<Promise<unknown>>()
  return {
    enqueue: (events: OutboxEvent[]): void => {
      for (const event of events.slice(0, MAX_IN_FLIGHT - inFlight.size)) {
        const publishing = publish(event)
          .catch((error) => logger.debug({ err: error, event_id: event.eventId }, 'left to the sweep'))
          .finally(() => inFlight.delete(publishing))
        inFlight.add(publishing)
      }
    },
    /** Resolves when all of it is published, or left to the sweep. */
    settled: async (): Promise<void> => void (await Promise.all(inFlight)),
  }
}
