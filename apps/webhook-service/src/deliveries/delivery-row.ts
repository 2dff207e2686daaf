import { Delivery } from '@leadwire/contracts'
import { shownStatus } from '../delivery-sql'

export const STATUSES = ['pending', 'held', 'delivered', 'exhausted', 'cancelled']

/** Statuses of deliveries that have ended; with a manual attempt to come they show as pending. */
export const ENDED = ['delivered', 'exhausted']

/** SQL: whether a manual attempt is to come, at the endpoint that `alias` names. */
export const hasManualAttempt = (alias: string) => `(manual_at IS NOT NULL AND ${alias}.deleted_at IS NULL)`

/** SQL: the status of a delivery at the endpoint `p`. */
export const SHOWN = `CASE WHEN ${hasManualAttempt('p')} AND status IN ('delivered', 'exhausted') THEN 'pending'
  ELSE ${shownStatus('status', 'p')} END`

export const DELIVERY_COLUMNS = `
  id, endpoint_id AS "endpointId", event_id AS "eventId",
  (SELECT type FROM events WHERE events.id = event_id) AS event, lead_reference AS "leadReference",
  (SELECT ${SHOWN} FROM endpoints p WHERE p.id = endpoint_id) AS status,
  attempt_count AS "attemptCount",
  (SELECT CASE WHEN p.deleted_at IS NULL THEN least(next_attempt_at, manual_at) END FROM endpoints p WHERE p.id = endpoint_id)
    AS "nextAttemptAt",
  created_at AS "createdAt", updated_at AS "updatedAt"`

/** The delivery of a row with these columns. NULL is undefined in a message. */
export const deliveryOf = (row: object): Delivery => Delivery.fromPartial(row)
