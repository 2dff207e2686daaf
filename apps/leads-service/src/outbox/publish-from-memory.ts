import { setTimeout as pause } from 'node:timers/promises'
import { type Database, gather, type Logger } from '@leadwire/service-kit'
import type { Publish } from './publish'
import type { OutboxEvent } from './record-events'

/** Beyond it events wait in the outbox alone. */
const UNDER_WAY_AT_MOST = 5000
/** Nobody waits for a mark: a statement for each lone event would cost the next create more than it is worth. */
const MARKS_APART_MS = 100

// Not waiting for the disk: a mark that a crash loses has an event published twice, and consumers drop the second.
const MARK = `
  WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
  UPDATE outbox SET published_at = clock_timestamp(), sequence = m.sequence
  FROM quick, unnest($1::uuid[], $2::bigint[]) AS m (event_id, sequence) WHERE outbox.event_id = m.event_id`

interface Published {
  eventId: string
  sequence: number
}

/**
 * Publishes events whose transaction has committed without reading them again, and marks them when the stream has
 * them. Whatever fails here is still in the outbox, where the relay finds it.
 */
export const createPublishFromMemory = (deps: { database: Database; publish: Publish; logger: Logger }) => {
  const { database, publish, logger } = deps
  const underWay = new Map<string, Promise<void>>()
  const mark = gather({
    send: async (published: Published[]) => {
      const values = [published.map(({ eventId }) => eventId), published.map(({ sequence }) => sequence)]
      await database.query({ name: 'mark-from-memory', text: MARK, values })
      await pause(MARKS_APART_MS)
      return published
    },
    maxBatch: 1000,
    maxInFlight: 1,
    maxQueued: UNDER_WAY_AT_MOST,
  })
  const publishOne = async (event: OutboxEvent) => {
    const { eventId } = event
    await mark({ eventId, sequence: await publish(event) })
  }
  return {
    handOver: (events: OutboxEvent[]): void => {
      for (const event of events) {
        if (underWay.size >= UNDER_WAY_AT_MOST) continue
        const publishing = publishOne(event)
          .catch((error) => logger.debug({ err: error, event_id: event.eventId }, 'left to the relay'))
          .finally(() => underWay.delete(event.eventId))
        underWay.set(event.eventId, publishing)
      }
    },
    underWay: (): string[] => [...underWay.keys()],
    /** Resolves when all of it is published and marked, or left to the relay. */
    settled: async (): Promise<void> => void (await Promise.all(underWay.values())),
  }
}
