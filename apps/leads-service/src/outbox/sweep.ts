import type { Database, Logger } from '@leadwire/service-kit'

const BATCH = 1000

/** Which of these events the consumer holds, fan-out and all. */
export type FindHeldEvents = (eventIds: string[]) => Promise<string[]>

// Two seconds leave the ordinary way time to be done; asking sooner would only find events still in flight.
const SELECT = `
  SELECT id, event_id, published_at < clock_timestamp() - interval '15 seconds' AS overdue FROM outbox
  WHERE published_at < clock_timestamp() - interval '2 seconds'
  ORDER BY published_at LIMIT ${BATCH}
  FOR NO KEY UPDATE SKIP LOCKED`

const CLEAR = 'DELETE FROM outbox WHERE id = ANY ($1::bigint[])'

const PUBLISH_AGAIN = 'UPDATE outbox SET published_at = NULL WHERE id = ANY ($1::bigint[])'

interface SweptRow {
  id: number
  event_id: string
  overdue: boolean
}

/**
 * Lets go of published events that the consumer is known to hold, and has those published again that it should hold
 * by now and does not: the stream may lose everything, and nothing is lost. Resolves with whether more may be waiting.
 */
export const sweepOnce = (deps: {
  database: Database
  findHeldEvents: FindHeldEvents
  logger: Logger
}): Promise<boolean> =>
  deps.database.transaction(async (tx) => {
    const rows = await tx.query<SweptRow>({ name: 'swept-events', text: SELECT })
    if (rows.length === 0) return false
    const held = new Set(await deps.findHeldEvents(rows.map(({ event_id }) => event_id)))
    const done = rows.filter(({ event_id }) => held.has(event_id))
    const lost = rows.filter(({ event_id, overdue }) => overdue && !held.has(event_id))
    if (done.length > 0)
      await tx.query({ name: 'clear-events', text: CLEAR, values: [done.map(({ id }) => id)] })
    if (lost.length > 0) {
      deps.logger.warn({ events: lost.length }, 'publishing events again that the consumer does not hold')
      await tx.query({ text: PUBLISH_AGAIN, values: [lost.map(({ id }) => id)] })
    }
    return done.length === BATCH
  })
