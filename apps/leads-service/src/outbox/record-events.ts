import type { EventType } from '@leadwire/contracts'
import type { Database, OpenTransaction } from '@leadwire/service-kit'
import { inserter, insertTogether } from '../database/inserter'

/** Something that webhook-service receives. `payload` is what is published, byte for byte. */
export interface OutboxEvent {
  eventId: string
  accountId: number
  type: EventType | 'notification.requested'
  payload: Uint8Array
  /** The lead that it is about. */
  leadReference: string
  /** The trace that it is part of, where traces are collected. */
  traceparent: string | null | undefined
  /** A time of PostgreSQL's in its transaction. It is published right after the commit: its row says so from the start. */
  publishedAt: string
}

/** The rows of events, written in the transaction of what they report: neither exists without the other. */
export const eventsOf = inserter<OutboxEvent>('outbox', [
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['type', 'text', ({ type }) => type],
  ['payload', 'bytea', ({ payload }) => payload],
  ['lead_reference', 'uuid', ({ leadReference }) => leadReference],
  ['traceparent', 'text', ({ traceparent }) => traceparent],
  ['published_at', 'timestamptz', ({ publishedAt }) => publishedAt],
])

export interface RecordingDeps {
  database: Database
  /** Called after a commit with the events that it wrote to the outbox, to publish them. */
  onCommitted: (events: OutboxEvent[]) => void
}

/** A transaction that can write events to the outbox. */
export interface RecordingTransaction extends OpenTransaction {
  record(event: OutboxEvent): void
}

/** Runs `work` in a transaction, and reports the events that it recorded when they are committed. */
export const recordingTransaction = async <Result>(
  { database, onCommitted }: RecordingDeps,
  work: (tx: RecordingTransaction) => Promise<Result>,
): Promise<Result> => {
  const events: OutboxEvent[] = []
  const result = await database.transaction((tx) =>
    work({
      ...tx,
      record: (event) => {
        insertTogether(tx, [eventsOf([event])])
        events.push(event)
      },
    }),
  )
  onCommitted(events)
  return result
}
