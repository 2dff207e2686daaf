import { Event, isInstant, isUuid, LEAD_EVENT_TYPES, NotificationRequested } from '@leadwire/contracts'
import { parseTraceparent } from '@leadwire/service-kit'
import { isHeaderValue } from '../arguments'
import { matchColumn } from '../endpoints/filter'

export interface StoredEvent
  extends Pick<Event, 'type' | 'test' | 'accountId' | 'accountKey' | 'leadReference'> {
  id: string
  /** The lead's version after the change; null of a notification, which is not in its account's log. */
  leadVersion: number | null
  body: Buffer
  /** What endpoints get that include attributes, where it is another one. */
  bodyWithAttributes: Buffer | null
  traceparent: string | null
  /** When the event happened, ISO 8601; null: when it is stored. */
  createdAt: string | null
  /** JSON of what filters of endpoints compare; null: it passes them all. */
  match: string | null
  streamSequence?: number
}

export const bytesOf = ({ body, bodyWithAttributes }: StoredEvent): number =>
  body.length + (bodyWithAttributes?.length ?? 0)

/** Reads a message. Throws an error that may have the event's id. */
export type Read = (message: Uint8Array) => StoredEvent

/** The error of a message that is no valid event, with its id if it can be read. */
const invalid = (violation: string, eventId?: string) =>
  Object.assign(new Error(violation), { name: 'InvalidEvent', eventId })

const reader =
  <Message extends { eventId: string }>(
    codec: { decode(bytes: Uint8Array): Message },
    violationOf: (message: Message) => string | undefined,
    read: (message: Message, bytes: Uint8Array) => Omit<StoredEvent, 'id'>,
  ): Read =>
  (bytes) => {
    let message: Message
    try {
      message = codec.decode(bytes)
    } catch (error) {
      throw invalid(`it is no event: ${(error as Error).message}`)
    }
    if (!isUuid(message.eventId)) throw invalid('it has no id')
    const id = message.eventId.toLowerCase()
    const violation = violationOf(message)
    if (violation) throw invalid(violation, id)
    return { id, ...read(message, bytes) }
  }

const TYPES: ReadonlySet<string> = new Set(LEAD_EVENT_TYPES)

export const readEvent = reader(
  Event,
  (event) => {
    if (event.accountId < 1) return 'it has no account'
    if (!isHeaderValue(event.accountKey)) return 'it has no account key that a header takes'
    if (!TYPES.has(event.type)) return 'its type is unknown'
    if (!isUuid(event.leadReference)) return 'it has no lead'
    if (event.leadVersion < 1) return 'it has no version of its lead'
    if (!isInstant(event.createdAt)) return 'it has no time'
    return event.body.length === 0 ? 'it has no body' : undefined
  },
  ({ eventId: _, body, bodyWithAttributes, traceparent, match, ...event }) => ({
    ...event,
    match: matchColumn(match),
    body: Buffer.from(body),
    bodyWithAttributes: bodyWithAttributes ? Buffer.from(bodyWithAttributes) : null,
    traceparent: parseTraceparent(traceparent) ?? null,
  }),
)

const ENTRY = /^(appointment|callback)(\.rescheduled|\.cancelled)?$/

/** Reads a NotificationRequested message, which is the body of the event as well. */
export const readNotification = reader(
  NotificationRequested,
  ({ accountId, subject, leadReference, userId, userEmail, date, requestedAt, invitationId }) => {
    if (accountId < 1) return 'it has no account'
    if (!isUuid(leadReference)) return 'it has no lead'
    if (userId < 1 || !userEmail.includes('@')) return 'it has no user'
    if (!isInstant(requestedAt)) return 'it has no time'
    if (subject === 'assigned') return undefined
    if (!ENTRY.test(subject)) return 'its subject is unknown'
    if (invitationId !== undefined && !isUuid(invitationId)) return 'it has no invitation'
    return date !== undefined && isInstant(date) ? undefined : 'it has no date'
  },
  ({ accountId, leadReference }, bytes) => ({
    ...{ type: 'notification.requested', accountId, accountKey: '', leadReference },
    ...{ leadVersion: null, test: false, createdAt: null, traceparent: null, match: null },
    ...{ body: Buffer.from(bytes), bodyWithAttributes: null },
  }),
)
