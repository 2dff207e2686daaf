import type { Delivery } from '@leadwire/contracts'

export interface DeliveryRow {
  id: number
  endpoint_id: number
  event_id: string
  lead_reference: string
  status: string
  attempt_count: number
  next_attempt_at: string | null
  created_at: string
  updated_at: string
}

// An attempt by hand that is still to come, or under way, makes pending what was at its end; it may be the next.
export const DELIVERY_COLUMNS = `
  id, endpoint_id, event_id, lead_reference,
  CASE WHEN by_hand_at IS NOT NULL AND status IN ('delivered', 'exhausted') THEN 'pending' ELSE status END AS status,
  attempt_count, least(next_attempt_at, by_hand_at) AS next_attempt_at, created_at, updated_at`

export const deliveryOf = (row: DeliveryRow): Delivery => ({
  id: row.id,
  endpointId: row.endpoint_id,
  eventId: row.event_id,
  leadReference: row.lead_reference,
  status: row.status,
  attemptCount: row.attempt_count,
  nextAttemptAt: row.next_attempt_at ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
