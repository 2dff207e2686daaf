import { EVENT_TYPES, Event } from '@leadwire/contracts'
import { parseTraceparent } from '@leadwire/service-kit'
import { isHeaderValue, isInstant, isUuid } from '../arguments'
import { decodeEvent, type StoredEvent } from './stored-event'

const TYPES: ReadonlySet<string> = new Set(EVENT_TYPES)

const violationOf = (event: Event): string | undefined => {
  if (event.accountId < 1) return 'it has no account'
  if (!isHeaderValue(event.accountKey)) return 'it has no account key that a header takes'
  if (!TYPES.has(event.type)) return 'its type is unknown'
  if (!isUuid(event.leadReference)) return 'it has no lead'
  if (event.leadVersion < 1) return 'it has no version of its lead'
  if (!isInstant(event.createdAt)) return 'it has no time'
  return event.body.length === 0 ? 'it has no body' : undefined
}

export const readEvent = (message: Uint8Array): StoredEvent => {
  const { event, id } = decodeEvent(Event, message, violationOf)
  const { accountId, accountKey, type, leadReference, leadVersion, test, createdAt } = event
  const body = Buffer.from(event.body)
  const traceparent = parseTraceparent(event.traceparent) ?? null
  return { id, type, test, accountId, accountKey, leadReference, leadVersion, createdAt, body, traceparent }
}
