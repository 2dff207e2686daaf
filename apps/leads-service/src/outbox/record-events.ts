import { inserter } from '../inserter'

/** Something the outside world is to be told. `payload` is what will be published, byte for byte. */
export interface OutboxEvent {
  eventId: string
  accountId: number
  kind: 'lead.created' | 'lead.changed' | 'notification.requested'
  payload: Uint8Array
  /** The lead that it tells of. */
  leadReference: string
  /** The trace that it is part of; known only until it is read again. */
  traceparent?: string
}

/** Writes events in the transaction of what they tell of: neither is ever there without the other. */
export const recordEvents = inserter<OutboxEvent>('outbox', [
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['account_id', 'bigint', ({ accountId }) => accountId],
  ['kind', 'text', ({ kind }) => kind],
  ['payload', 'bytea', ({ payload }) => Buffer.from(payload)],
  ['lead_reference', 'uuid', ({ leadReference }) => leadReference],
])
