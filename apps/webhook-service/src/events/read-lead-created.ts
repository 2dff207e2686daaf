import { LeadCreated, leadJson } from '@leadwire/contracts'
import { parseTraceparent } from '@leadwire/service-kit'
import { isHeaderValue } from '../header-value'
import { isUuid } from '../uuid'
import { leadFault } from './lead-faults'

/** An event as it is stored. */
export interface StoredEvent {
  id: string
  accountId: number
  accountKey: string
  leadReference: string
  /** What every attempt sends, byte for byte. */
  body: Buffer
  traceparent: string | null
}

/**
 * Reads a LeadCreated message and renders the webhook's body (interface: Lead Created; no product_style there).
 * Throws when it can't be one: then it never will be.
 */
export const readLeadCreated = (message: Uint8Array): StoredEvent => {
  const { eventId, accountId, accountKey, lead, traceparent } = LeadCreated.decode(message)
  if (!isUuid(eventId)) throw new TypeError('the event has no id')
  if (accountId < 1) throw new TypeError(`event ${eventId} has no account`)
  if (!isHeaderValue(accountKey))
    throw new TypeError(`event ${eventId} has no account key that a header takes`)
  if (!lead || !isUuid(lead.reference)) throw new TypeError(`event ${eventId} has no lead`)
  const fault = leadFault(lead)
  if (fault) throw new TypeError(`event ${eventId} has a lead with a broken part: ${fault}`)
  return {
    id: eventId.toLowerCase(),
    accountId,
    accountKey,
    leadReference: lead.reference,
    body: Buffer.from(`{"data":${leadJson(lead, { productStyle: false })}}`),
    traceparent: parseTraceparent(traceparent) ?? null,
  }
}
