import type { OpenTransaction } from '@leadwire/service-kit'

/** Something the outside world is to be told. `payload` is what will be published, byte for byte. */
export interface OutboxEvent {
  eventId: string
  accountId: number
  kind: 'lead.created' | 'notification.requested'
  payload: Uint8Array
}

/** The condition of the rows that tell of new leads. */
export const LEAD_EVENT = "kind = 'lead.created'"

const INSERT = `
  INSERT INTO outbox (event_id, account_id, kind, payload)
  SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bytea[])`

/** Writes events in the transaction of what they tell of: neither is ever there without the other. */
export const recordEvents = (tx: OpenTransaction, events: OutboxEvent[]): void => {
  if (events.length === 0) return
  tx.send({
    name: 'record-events',
    text: INSERT,
    values: [
      events.map(({ eventId }) => eventId),
      events.map(({ accountId }) => accountId),
      events.map(({ kind }) => kind),
      events.map(({ payload }) => Buffer.from(payload)),
    ],
  })
}
