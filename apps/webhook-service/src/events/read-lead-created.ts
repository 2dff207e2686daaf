import { type Lead, LeadCreated, leadJson } from '@leadwire/contracts'
import { parseTraceparent } from '@leadwire/service-kit'
import { isHeaderValue } from '../header-value'
import { isUuid } from '../uuid'
import { leadFault } from './lead-faults'
import { type StoredEvent, UnfitEvent } from './stored-event'

const faultOf = ({ accountId, accountKey, lead }: LeadCreated): string | undefined => {
  if (accountId < 1) return 'it has no account'
  if (!isHeaderValue(accountKey)) return 'it has no account key that a header takes'
  if (!lead || !isUuid(lead.reference)) return 'it has no lead'
  const fault = leadFault(lead)
  return fault && `its lead has a broken part: ${fault}`
}

const decode = (message: Uint8Array): LeadCreated => {
  try {
    return LeadCreated.decode(message)
  } catch (error) {
    throw new UnfitEvent(`it is no event: ${(error as Error).message}`)
  }
}

/** The body of a lead's webhook (interface: Lead Created; no product_style there). */
export const leadCreatedBody = (lead: Lead): Buffer =>
  Buffer.from(`{"data":${leadJson(lead, { productStyle: false })}}`)

/**
 * Reads a LeadCreated message and renders the webhook's body.
 * Throws UnfitEvent when it can't be one: then it never will be.
 */
export const readLeadCreated = (message: Uint8Array): StoredEvent => {
  const event = decode(message)
  const { eventId, accountId, accountKey, lead, traceparent } = event
  if (!isUuid(eventId)) throw new UnfitEvent('it has no id')
  const id = eventId.toLowerCase()
  const fault = faultOf(event)
  if (fault) throw new UnfitEvent(fault, id)
  return {
    id,
    kind: 'lead.created',
    test: lead!.test,
    accountId,
    accountKey,
    leadReference: lead!.reference,
    body: leadCreatedBody(lead!),
    traceparent: parseTraceparent(traceparent) ?? null,
  }
}
