import type { FindStoredEventsResponse } from '@leadwire/contracts'
import {
  type Database,
  type Logger,
  type OpenTransaction,
  type Round,
  statement,
} from '@leadwire/service-kit'
import type { OutboxEvent } from './record-events'
import type { StreamPosition } from './stream-position'

const BATCH = 1000

/**
 * An event that was published from memory has no sequence number here. After so long the relay publishes it again: within the
 * stream's duplicate window, so that the stream keeps it once and answers with its number.
 */
const OVERDUE_S = 8

/** Which of these events the consumer has stored, with their fan-out, and which are dead letters. */
export type FindStoredEvents = (eventIds: string[]) => Promise<FindStoredEventsResponse>

// Two seconds leave the ordinary way time to be done; asking sooner would only find events still in flight. By now(), which the index
// ends the search by; clock_timestamp() does not.
const select = statement<SweptRow>('swept-events')`
  SELECT event_id AS "eventId", type, sequence, published_at < now() - interval '${OVERDUE_S} seconds' AS overdue FROM outbox
  WHERE published_at < now() - interval '2 seconds'
  ORDER BY published_at LIMIT ${BATCH}
  FOR NO KEY UPDATE SKIP LOCKED`

const clear = statement('clear-events')`DELETE FROM outbox WHERE event_id = ANY ($1::uuid[])`

// Its sequence stays: a new message id is made of it.
const PUBLISH_AGAIN = 'UPDATE outbox SET published_at = NULL WHERE event_id = ANY ($1::uuid[])'

// Neither relay nor sweep find it any more.
const MARK_DEAD_LETTERS = `
  UPDATE outbox SET published_at = 'infinity', refusal = r.reason
  FROM unnest($1::uuid[], $2::text[]) AS r (event_id, reason) WHERE outbox.event_id = r.event_id`

interface SweptRow {
  eventId: string
  type: OutboxEvent['type']
  sequence: number | null
  overdue: boolean
}

interface Deps {
  database: Database
  findStoredEvents: FindStoredEvents
  findPosition: () => Promise<StreamPosition>
  logger: Logger
}

const idsOf = (rows: SweptRow[]) => rows.map(({ eventId }) => eventId)

const markDeadLetters = (
  tx: OpenTransaction,
  refused: { row: SweptRow; reason: string }[],
  logger: Logger,
) => {
  const rows = refused.map(({ row }) => row)
  tx.send({ text: MARK_DEAD_LETTERS, values: [idsOf(rows), refused.map(({ reason }) => reason)] })
  for (const { row, reason } of refused)
    logger.error({ event_id: row.eventId, reason }, 'a dead letter: the event is not published again')
}

/**
 * Deletes published events that the consumer has stored, and marks its dead letters. The others are published again once stream and
 * consumer have passed them: the stream may lose everything, and nothing is lost. Events in flight are left, however long they take.
 */
export const sweepOnce = ({ database, findStoredEvents, findPosition, logger }: Deps): Promise<Round> =>
  database.transaction(async (tx) => {
    const rows = await select(tx)
    if (rows.length === 0) return false
    // In this order: what was published has its place in the stream, and what the consumer has passed by then is on its disk.
    const position = await findPosition().catch((error: unknown) => {
      logger.warn({ err: error }, 'nothing is published again while JetStream does not answer')
      return undefined
    })
    const answer = await findStoredEvents(rows.map(({ eventId }) => eventId))
    const held = new Set(answer.eventIds)
    const done = rows.filter(({ eventId }) => held.has(eventId))
    const reasons = new Map(
      answer.refused.map(({ eventId, sequence, reason }) => [`${eventId}:${sequence}`, reason]),
    )
    const others = rows.filter(({ eventId }) => !held.has(eventId))
    const refused = others.flatMap((row) => {
      const reason = reasons.get(`${row.eventId}:${row.sequence}`)
      return reason === undefined ? [] : [{ row, reason }]
    })
    const asked = new Set(refused.map(({ row }) => row))
    const isLost = (row: SweptRow) =>
      (row.sequence === null && row.overdue) || (position?.hasRoom === true && position.hasPassed(row))
    const lost = others.filter((row) => !asked.has(row) && isLost(row))
    if (done.length > 0) clear.send(tx, idsOf(done))
    if (refused.length > 0) markDeadLetters(tx, refused, logger)
    if (lost.length > 0) {
      logger.warn({ events: lost.length }, 'publishing events again that the consumer does not have')
      tx.send({ text: PUBLISH_AGAIN, values: [idsOf(lost)] })
    }
    return done.length + refused.length + lost.length === BATCH || 'pause'
  })
