import { EVENT_TYPES, Event } from '@leadwire/contracts'
import { parseTraceparent } from '@leadwire/service-kit'
import { isHeaderValue } from '../header-value'
import { isInstant } from '../instant'
import { isUuid } from '../uuid'
import { type StoredEvent, UnfitEvent } from './stored-event'

const TYPES: ReadonlySet<string> = new Set(EVENT_TYPES)

const faultOf = (event: Event): string | undefined => {
  if (event.accountId < 1) return 'it has no account'
  if (!isHeaderValue(event.accountKey)) return 'it has no account key that a header takes'
  if (!TYPES.has(event.type)) return 'its type is unknown'
  if (!isUuid(event.leadReference)) return 'it has no lead'
  if (event.leadVersion < 1) return 'it has no version of its lead'
  if (!isInstant(event.createdAt)) return 'it has no time'
  return event.body.length === 0 ? 'it has no body' : undefined
}

const decode = (message: Uint8Array): Event => {
  try {
    return Event.decode(message)
  } catch (error) {
    throw new UnfitEvent(`it is no event: ${(error as Error).message}`)
  }
}

/** Reads an Event message. Throws UnfitEvent when it can't be one: then it never will be. */
export const readEvent = (message: Uint8Array): StoredEvent => {
  const event = decode(message)
  if (!isUuid(event.eventId)) throw new UnfitEvent('it has no id')
  const id = event.eventId.toLowerCase()
  const fault = faultOf(event)
  if (fault) throw new UnfitEvent(fault, id)
  const { accountId, accountKey, type, leadReference, leadVersion, test, createdAt } = event
  const body = Buffer.from(event.body)
  const traceparent = parseTraceparent(event.traceparent) ?? null
  return { id, type, test, accountId, accountKey, leadReference, leadVersion, createdAt, body, traceparent }
}
