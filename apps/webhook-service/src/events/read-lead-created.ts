import { LeadCreated, leadJson } from '@leadwire/contracts'
import { parseTraceparent } from '@leadwire/service-kit'
import { isUuid } from '../uuid'

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

// What a header may carry (RFC 9110, 5.5): visible characters and spaces between.
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * Reads a LeadCreated message and renders the webhook's body (interface: Lead Created; no product_style there).
 * Throws when it can't be one: then it never will be.
 */
export const readLeadCreated = (message: Uint8Array): StoredEvent => {
  const { eventId, accountId, accountKey, lead, traceparent } = LeadCreated.decode(message)
  if (!isUuid(eventId)) throw new TypeError('the event has no id')
  if (accountId < 1) throw new TypeError(`event ${eventId} has no account`)
  if (!HEADER_VALUE.test(accountKey))
    throw new TypeError(`event ${eventId} has no account key that a header takes`)
  if (!lead || !isUuid(lead.reference)) throw new TypeError(`event ${eventId} has no lead`)
  return {
    id: eventId.toLowerCase(),
    accountId,
    accountKey,
    leadReference: lead.reference,
    body: Buffer.from(`{"data":${leadJson(lead, { productStyle: false })}}`),
    traceparent: parseTraceparent(traceparent) ?? null,
  }
}
