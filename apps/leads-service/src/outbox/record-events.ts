import { Event, type EventType, type Match } from '@leadwire/contracts'
import {
  type Database,
  defineInsert,
  isTracing,
  newEventId,
  type OpenTransaction,
  statement,
} from '@leadwire/service-kit'

/** An event for webhook-service. `payload` is published byte for byte. */
export interface OutboxEvent {
  eventId: string
  accountId: number
  type: EventType | 'notification.requested'
  payload: Uint8Array
  /** The lead that the event is about. null for an e-mail that is not about a lead. */
  leadReference: string | null
  /** The trace that the event is part of. null if traces are not collected. */
  traceparent: string | null | undefined
}

/**
 * Builds an event of a lead, with the finished body of its webhook. `at` is the time of the change by
 * PostgreSQL's clock.
 */
export const buildLeadEvent = (happened: {
  accountId: number
  accountKey: string
  type: EventType
  lead: { reference: string; test: boolean; version: number }
  at: string
  traceparent: string | undefined
  /** The values that the filters of webhook endpoints compare. If absent, the event passes every filter. */
  match?: Match
  body: Buffer
  /** Absent when the lead has no attributes. */
  bodyWithAttributes?: Buffer | undefined
}): OutboxEvent => {
  const { accountId, accountKey, type, lead, at, traceparent = '' } = happened
  const { match, body, bodyWithAttributes } = happened
  const eventId = newEventId()
  const leadReference = lead.reference
  const payload = Event.encode({
    eventId,
    accountId,
    accountKey,
    type,
    leadReference,
    leadVersion: lead.version,
    test: lead.test,
    traceparent,
    createdAt: at,
    match,
    body,
    bodyWithAttributes,
  }).finish()
  const kept = isTracing() ? traceparent : null
  return { eventId, accountId, type, payload, leadReference, traceparent: kept }
}

/**
 * Inserts events in the transaction of the change that they report, so that an event exists only together
 * with its change. A new row is checked after ten seconds (`check-outbox.ts`). By then the process that
 * commits the row has normally published the event.
 */
export const insertEvents = defineInsert<OutboxEvent>('outbox', [
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['type', 'text', ({ type }) => type],
  ['payload', 'bytea', ({ payload }) => payload],
  ['lead_reference', 'uuid', ({ leadReference }) => leadReference],
  ['traceparent', 'text', ({ traceparent }) => traceparent],
])

const park = statement('park-events')`
  UPDATE outbox SET next_check_at = NULL, publish_count = 0 WHERE event_id = ANY ($1::uuid[])`

const release = statement('release-parked-events')`
  UPDATE outbox SET next_check_at = clock_timestamp()
  WHERE event_id = ANY ($1::uuid[]) AND next_check_at IS NULL AND refusal IS NULL`

/** Records events that are not published until `releaseEvents` is called with their ids. */
export const parkEvents = (tx: OpenTransaction, events: OutboxEvent[]): void => {
  if (events.length === 0) return
  insertEvents(tx, events)
  park.send(
    tx,
    events.map(({ eventId }) => eventId),
  )
}

/** Makes parked events due. Does not change an event that was already released or refused. */
export const releaseEvents = (tx: OpenTransaction, eventIds: string[]): void => {
  if (eventIds.length > 0) release.send(tx, eventIds)
}

export interface RecordingDeps {
  database: Database
  /** Publishes events. Called after each commit, with the events that the transaction wrote to the outbox. */
  onCommitted: (events: OutboxEvent[]) => void
}

/** A transaction that can write events to the outbox. */
export interface RecordingTransaction extends OpenTransaction {
  record(event: OutboxEvent): void
}

/**
 * Runs `work` in a transaction. After the commit, calls `onCommitted` with the events that `work` recorded.
 */
export const recordingTransaction = async <Result>(
  { database, onCommitted }: RecordingDeps,
  work: (tx: RecordingTransaction) => Promise<Result>,
): Promise<Result> => {
  const events: OutboxEvent[] = []
  const result = await database.transaction((tx) =>
    work({
      ...tx,
      record: (event) => {
        insertEvents(tx, [event])
        events.push(event)
      },
    }),
  )
  onCommitted(events)
  return result
}
