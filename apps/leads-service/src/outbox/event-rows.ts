import { LeadCreated } from '@leadwire/contracts'
import { stampEvent } from '../leads/stamp-event'

export const LEAD_EVENT = "kind = 'lead.created'"

export interface EventRow {
  id: number
  event_id: string
  payload: Buffer
  /** Set where the payload is a draft: what only this lead's row can say is missing. */
  lead_id: number | null
  api_key: string
  customer_id: number
  created_at: string
}

/** Selects EventRows of the outbox `o`, oldest first. What they need of their leads never changes. */
export const selectEvents = (where: string): string => `
  SELECT o.id, o.event_id, o.payload, o.lead_id, a.api_key, l.customer_id, l.created_at
  FROM outbox o JOIN accounts a ON a.id = o.account_id
  LEFT JOIN leads l ON l.account_id = o.account_id AND l.id = o.lead_id
  WHERE ${where} ORDER BY o.id`

/** What is published of an event: the LeadCreated that went out from memory, byte for byte. */
export const payloadOf = (row: EventRow): Uint8Array => {
  const { payload, lead_id: id, api_key: accountKey, customer_id: customerId, created_at: createdAt } = row
  if (id === null) return payload
  const stamp = { accountKey, id, customerId, createdAt }
  return LeadCreated.encode(stampEvent(LeadCreated.decode(payload), stamp)).finish()
}
