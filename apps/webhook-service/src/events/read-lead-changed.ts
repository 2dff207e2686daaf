import { EVENT_KINDS, LeadChanged } from '@leadwire/contracts'
import { isHeaderValue } from '../header-value'
import { isUuid } from '../uuid'
import { type StoredEvent, UnfitEvent } from './stored-event'

const KINDS: ReadonlySet<string> = new Set(EVENT_KINDS)

const faultOf = ({ accountId, accountKey, kind, leadReference, body }: LeadChanged): string | undefined => {
  if (accountId < 1) return 'it has no account'
  if (!isHeaderValue(accountKey)) return 'it has no account key that a header takes'
  if (!KINDS.has(kind)) return 'its kind is unknown'
  if (!isUuid(leadReference)) return 'it has no lead'
  return body.length === 0 ? 'it has no body' : undefined
}

const decode = (message: Uint8Array): LeadChanged => {
  try {
    return LeadChanged.decode(message)
  } catch (error) {
    throw new UnfitEvent(`it is no event: ${(error as Error).message}`)
  }
}

/** Reads a LeadChanged message, which has the webhook's body. Throws UnfitEvent when it can't be one: then it never will be. */
export const readLeadChanged = (message: Uint8Array): StoredEvent => {
  const event = decode(message)
  if (!isUuid(event.eventId)) throw new UnfitEvent('it has no id')
  const id = event.eventId.toLowerCase()
  const fault = faultOf(event)
  if (fault) throw new UnfitEvent(fault, id)
  const { accountId, accountKey, kind, leadReference, test, body } = event
  return { id, kind, test, accountId, accountKey, leadReference, body: Buffer.from(body), traceparent: null }
}
