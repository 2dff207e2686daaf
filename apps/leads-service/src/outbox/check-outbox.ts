/*
 * One round of the loop that empties the outbox. Rows of `outbox` have these states:
 *
 * - fresh: `next_check_at` lies ahead. The event was published or is being published. webhook-service
 *   has until the check to store the event.
 * - due: `next_check_at` has passed.
 * - parked: no next check, no refusal. The event waits until an erasure has erased the lead's other
 *   events.
 * - refused: no next check, and the reason is in `refusal`. webhook-service can neither read nor store
 *   the event (a dead letter).
 * - gone: the row was deleted.
 *
 * Transitions:
 *
 * - insert → fresh: the next check is ten seconds ahead, and the process that commits the row publishes
 *   it from memory.
 * - insert → parked, parked → due: `parkEvents` and `releaseEvents`, for erasures.
 * - fresh → due: time passes. A check that lies too far ahead, because PostgreSQL's clock has gone
 *   back, is made due, too.
 * - due → gone: webhook-service has stored the event.
 * - due → refused: webhook-service has refused the event. refused → due: `retry-refused-events.ts`.
 * - due → fresh: the event is published again. The pauses before the first three checks of an event are
 *   10 s, 10 s and 30 s. Each later pause is a minute.
 * - due → due: webhook-service or JetStream does not respond, or the stream has no room. The next round
 *   tries again.
 * - any → gone: the lead is erased, or the account is deleted.
 *
 * Invariants, each with the test in `check-outbox.spec.ts` that proves it:
 *
 * - No event is lost, whatever happens to the process or to the stream: "what a killed process did not
 *   publish …", "a stream that was %s …".
 * - A round deletes, refuses or repeats an event only after a response of webhook-service: "while
 *   webhook-service does not answer …".
 * - A repetition has a new message id, so the stream does not drop it: "each repetition has its own
 *   message id …".
 * - Repetitions never push undelivered messages out of the stream: "a full stream …".
 * - Parked and refused events are not published: "a parked event …", "a refused event …".
 * - Each row is checked by one copy at a time, because a round locks its rows: "two rounds share …".
 * - An erasure never deletes a row whose event a round is publishing. When the row is deleted, only a
 *   publication from memory may still be in flight: "an erasure waits for the round …".
 */
import type { DeadLetter, FindStoredEventsResponse } from '@leadwire/contracts'
import {
  type Database,
  type Logger,
  type OpenTransaction,
  type RepeatLimit,
  type Round,
  statement,
} from '@leadwire/service-kit'
import type { Publish, PublishedEvent } from './publish-events'

/**
 * The limits of a round: the number of rows, and the total size of their events in bytes. A single event may
 * have several megabytes. The row that reaches MAX_BYTES is part of the round.
 */
const MAX_ROWS = 500
const MAX_BYTES = 16_000_000

export interface CheckOutboxDeps {
  database: Database
  /**
   * Asks webhook-service which of these events it has stored together with their deliveries, and which
   * events it has refused.
   */
  findStoredEvents: (eventIds: string[]) => Promise<FindStoredEventsResponse>
  hasStreamRoom: () => Promise<boolean>
  publish: Publish
  logger: Logger
  failures: RepeatLimit
}

interface DueEvent {
  eventId: string
  bytes: number
}

// No check is scheduled more than a minute ahead. If a check is due in more than two minutes, PostgreSQL's
// clock has therefore gone back since the check was scheduled.
const resetFutureChecks = statement('reset-future-checks')`
  UPDATE outbox SET next_check_at = now() WHERE event_id = ANY (ARRAY (
    SELECT event_id FROM outbox WHERE next_check_at > now() + interval '2 minutes'
    ORDER BY next_check_at LIMIT ${MAX_ROWS} FOR NO KEY UPDATE SKIP LOCKED
  ))`

// Compares with now(), because PostgreSQL can search the index for now(), but not for clock_timestamp().
const claim = statement<DueEvent>('claim-due-events')`
  WITH due AS MATERIALIZED (
    SELECT event_id, next_check_at, octet_length(payload) AS bytes FROM outbox
    WHERE next_check_at <= now()
    ORDER BY next_check_at LIMIT ${MAX_ROWS}
    FOR NO KEY UPDATE SKIP LOCKED
  )
  SELECT event_id AS "eventId", bytes FROM (
    SELECT *, sum(bytes) OVER (ORDER BY next_check_at, event_id) - bytes AS before FROM due
  ) d WHERE before < ${MAX_BYTES}`

const deleteStored = statement('delete-stored-events')`
  DELETE FROM outbox WHERE event_id = ANY ($1::uuid[])`

const refuse = statement('refuse-events')`
  UPDATE outbox SET next_check_at = NULL, refusal = r.reason
  FROM unnest($1::uuid[], $2::text[]) AS r (event_id, reason) WHERE outbox.event_id = r.event_id`

const read = statement<PublishedEvent & { repetition: number }>('read-events-to-repeat')`
  SELECT event_id AS "eventId", type, payload, traceparent, publish_count AS repetition FROM outbox
  WHERE event_id = ANY ($1::uuid[]) ORDER BY next_check_at, event_id`

const schedule = statement('schedule-next-checks')`
  UPDATE outbox SET publish_count = publish_count + 1, next_check_at = clock_timestamp() + CASE
    WHEN publish_count < 2 THEN interval '10 seconds'
    WHEN publish_count = 2 THEN interval '30 seconds'
    ELSE interval '1 minute' END
  WHERE event_id = ANY ($1::uuid[])`

const refuseEvents = (tx: OpenTransaction, refused: DeadLetter[], logger: Logger): void => {
  if (refused.length === 0) return
  refuse.send(
    tx,
    refused.map(({ eventId }) => eventId),
    refused.map(({ reason }) => reason),
  )
  for (const { eventId, reason } of refused)
    logger.error({ event_id: eventId, reason }, 'a dead letter: the event is not published again')
}

const findRoom = async ({ hasStreamRoom, failures }: CheckOutboxDeps): Promise<boolean> => {
  try {
    return await hasStreamRoom()
  } catch (error) {
    failures.warn({ err: error }, 'no event is published again while JetStream does not respond')
    return false
  }
}

/**
 * Publishes events again, but none if the stream has no room. Resolves with whether all events are published.
 */
const publishAgain = async (
  tx: OpenTransaction,
  eventIds: string[],
  deps: CheckOutboxDeps,
): Promise<boolean> => {
  if (eventIds.length === 0) return true
  if (!(await findRoom(deps))) return false
  const events = await read(tx, eventIds)
  const results = await Promise.allSettled(events.map((event) => deps.publish(event)))
  const published = events.filter((_, index) => results[index]!.status === 'fulfilled')
  schedule.send(
    tx,
    published.map(({ eventId }) => eventId),
  )
  const repeated = published.filter(({ repetition }) => repetition > 0)
  if (repeated.length > 0)
    deps.logger.warn({ events: repeated.length }, 'webhook-service lacks events; publishing them again')
  const failure = results.find((result) => result.status === 'rejected')
  if (!failure) return true
  const waiting = events.length - published.length
  deps.failures.warn({ err: failure.reason, waiting }, 'could not publish')
  return false
}

/**
 * Checks the events that are due: deletes stored events, marks refused events, and publishes all others
 * again. Rejects, and changes nothing, if webhook-service does not respond.
 *
 * After a crash between a publication and the commit, the event is published once more. webhook-service drops
 * the repetition by its event id.
 */
export const checkOutbox = (deps: CheckOutboxDeps): Promise<Round> =>
  deps.database.transaction(async (tx) => {
    resetFutureChecks.send(tx)
    const due = await claim(tx)
    if (due.length === 0) return false
    const eventIds = due.map(({ eventId }) => eventId)
    const answer = await deps.findStoredEvents(eventIds)
    const stored = new Set(answer.eventIds)
    const refused = answer.refused.filter(({ eventId }) => !stored.has(eventId))
    const refusedIds = new Set(refused.map(({ eventId }) => eventId))
    const missing = eventIds.filter((eventId) => !stored.has(eventId) && !refusedIds.has(eventId))
    deleteStored.send(tx, answer.eventIds)
    refuseEvents(tx, refused, deps.logger)
    const areAllPublished = await publishAgain(tx, missing, deps)
    const bytes = due.reduce((sum, event) => sum + event.bytes, 0)
    const isFull = due.length === MAX_ROWS || bytes >= MAX_BYTES
    return (isFull && areAllPublished) || 'pause'
  })
