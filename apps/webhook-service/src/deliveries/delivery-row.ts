import { Delivery } from '@leadwire/contracts'

// An attempt by hand that is still to come, or under way, makes pending what was at its end; it may be the next.
export const DELIVERY_COLUMNS = `
  id, endpoint_id AS "endpointId", event_id AS "eventId", lead_reference AS "leadReference",
  CASE WHEN by_hand_at IS NOT NULL AND status IN ('delivered', 'exhausted') THEN 'pending' ELSE status END AS status,
  attempt_count AS "attemptCount", least(next_attempt_at, by_hand_at) AS "nextAttemptAt",
  created_at AS "createdAt", updated_at AS "updatedAt"`

/** The delivery of a row with these columns. NULL is undefined in a message. */
export const deliveryOf = (row: object): Delivery => Delivery.fromPartial(row)
