import { EventReceiver } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { renderStatus } from '../delivery-sql'
import type { Operation } from '../operation'

// An event counts as stored only after its fan-out, because its receivers are unknown before the fan-out.
const isStored = statement<{ stored: boolean }>('is-event-stored')`
  SELECT EXISTS (
    SELECT FROM events WHERE id = :eventId AND account_id = :accountId AND fan_out IS NOT NULL
  ) AS stored`

// If the row of a deleted endpoint was already pruned, the stored status of the delivery is used.
// `deliveredAt` is the end of the first successful attempt. A later manual attempt does not change this time.
const select = statement<object>('event-receivers')`
  SELECT d.endpoint_id AS "endpointId", d.id AS "deliveryId",
    coalesce((SELECT ${renderStatus('d.status', 'p')} FROM endpoints p WHERE p.id = d.endpoint_id), d.status) AS status,
    (
      SELECT min(started_at + duration_ms * interval '1 ms') FROM attempts a
      WHERE a.delivery_id = d.id AND a.error IS NULL
    ) AS "deliveredAt"
  FROM deliveries d WHERE d.event_id = :eventId AND d.account_id = :accountId ORDER BY d.id`

/**
 * Returns the deliveries of an event, each with the time of the first 2xx response. `stored` is false before
 * the fan-out of the event.
 */
export const listEventReceivers: Operation<'listEventReceivers'> = async (
  { database },
  { accountId, eventId },
) => {
  const [event] = await isStored(database, { accountId, eventId })
  const rows = await select(database, { accountId, eventId })
  return { stored: event!.stored, receivers: rows.map((row) => EventReceiver.fromPartial(row)) }
}
