import type { OpenTransaction } from '@leadwire/service-kit'
import { inserter, insertTogether } from '../inserter'

/** Something the outside world is to be told. `payload` is what will be published, byte for byte. */
export interface OutboxEvent {
  eventId: string
  accountId: number
  kind: 'lead.created' | 'lead.changed' | 'notification.requested'
  payload: Uint8Array
  /** The lead that it tells of. */
  leadReference: string
  /** The trace that it is part of, where traces are collected. */
  traceparent?: string | null | undefined
  /** When its process publishes it, right after the commit. Without it the relay publishes the event. */
  publishedAt?: string
}

/** The rows of events, which are written in the transaction of what they tell of: neither is ever there without the other. */
export const eventsOf = inserter<OutboxEvent>('outbox', [
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['kind', 'text', ({ kind }) => kind],
  ['payload', 'bytea', ({ payload }) => Buffer.from(payload)],
  ['lead_reference', 'uuid', ({ leadReference }) => leadReference],
  ['traceparent', 'text', ({ traceparent }) => traceparent],
  ['published_at', 'timestamptz', ({ publishedAt }) => publishedAt],
])

/** Writes an event in the transaction of what it tells of. */
export const recordEvent = (tx: OpenTransaction, event: OutboxEvent): void =>
  insertTogether(tx, [eventsOf([event])])
