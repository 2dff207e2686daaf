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

export const DELIVERY_COLUMNS =
  'id, endpoint_id, event_id, lead_reference, status, attempt_count, next_attempt_at, created_at, updated_at'

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
