import {
  Event,
  isHeaderValue,
  isInstant,
  isUuid,
  LEAD_EVENT_TYPES,
  NotificationRequested,
} from '@leadwire/contracts'
import { parseTraceparent } from '@leadwire/service-kit'
import { renderMatchColumn } from '../../endpoints/filter'

export interface StoredEvent
  extends Pick<Event, 'type' | 'test' | 'accountId' | 'accountKey' | 'leadReference'> {
  id: string
  /** The lead's version after the change. Null for a notification, which is not in its account's log. */
  leadVersion: number | null
  body: Buffer
  /** The body for endpoints that include attributes. Null if it is the same as `body`. */
  bodyWithAttributes: Buffer | null
  traceparent: string | null
  /** When the event happened, in ISO 8601. Null: the time at which the event is stored. */
  createdAt: string | null
  /** JSON of the values that filters of endpoints compare. An event with null passes every filter. */
  match: string | null
  /** The sequence number of the event's message in the stream. */
  streamSequence?: number
}

/** Returns how many bytes the bodies of an event have. */
export const countBytes = ({ body, bodyWithAttributes }: StoredEvent): number =>
  body.length + (bodyWithAttributes?.length ?? 0)

/**
 * Reads a message. Throws an error if the message is invalid. The error has the event's id in `eventId` if
 * the id can be read.
 */
export type Read = (message: Uint8Array) => StoredEvent

const createError = (violation: string, eventId?: string) =>
  Object.assign(new Error(violation), { name: 'InvalidEvent', eventId })

/** Creates the function that decodes, checks and converts messages of one type. */
const createReader =
  <Message extends { eventId: string }>(
    codec: { decode(bytes: Uint8Array): Message },
    findViolation: (message: Message) => string | undefined,
    read: (message: Message, bytes: Uint8Array) => Omit<StoredEvent, 'id'>,
  ): Read =>
  (bytes) => {
    let message: Message
    try {
      message = codec.decode(bytes)
    } catch (error) {
      throw createError(`the message cannot be decoded: ${(error as Error).message}`)
    }
    if (!isUuid(message.eventId)) throw createError('the event id is missing or invalid')
    const id = message.eventId.toLowerCase()
    const violation = findViolation(message)
    if (violation) throw createError(violation, id)
    return { id, ...read(message, bytes) }
  }

const TYPES: ReadonlySet<string> = new Set(LEAD_EVENT_TYPES)

/** Reads the message of an event of a lead. */
export const readEvent = createReader(
  Event,
  (event) => {
    if (event.accountId < 1) return 'the account id is missing'
    if (!isHeaderValue(event.accountKey)) return 'the account key is not a valid header value'
    if (!TYPES.has(event.type)) return 'the event type is unknown'
    if (!isUuid(event.leadReference)) return 'the lead reference is missing or invalid'
    if (event.leadVersion < 1) return 'the lead version is missing'
    if (!isInstant(event.createdAt)) return 'the time is missing or invalid'
    return event.body.length === 0 ? 'the body is missing' : undefined
  },
  ({ eventId: _, body, bodyWithAttributes, traceparent, match, ...event }) => ({
    ...event,
    match: renderMatchColumn(match),
    body: Buffer.from(body),
    bodyWithAttributes: bodyWithAttributes ? Buffer.from(bodyWithAttributes) : null,
    traceparent: parseTraceparent(traceparent) ?? null,
  }),
)

const ENTRY = /^(appointment|callback)(\.rescheduled|\.cancelled)?$/

/** Reads a NotificationRequested message. The message itself becomes the body of the event. */
export const readNotification = createReader(
  NotificationRequested,
  ({ accountId, subject, leadReference, userId, userEmail, date, requestedAt, invitationId }) => {
    if (accountId < 1) return 'the account id is missing'
    if (!isUuid(leadReference)) return 'the lead reference is missing or invalid'
    if (userId < 1 || !userEmail.includes('@')) return 'the user is missing or invalid'
    if (!isInstant(requestedAt)) return 'the time is missing or invalid'
    if (subject === 'assigned') return undefined
    if (!ENTRY.test(subject)) return 'the subject is unknown'
    if (invitationId !== undefined && !isUuid(invitationId)) return 'the invitation id is invalid'
    return date !== undefined && isInstant(date) ? undefined : 'the date is missing or invalid'
  },
  ({ accountId, leadReference }, bytes) => ({
    type: 'notification.requested',
    accountId,
    accountKey: '',
    leadReference,
    leadVersion: null,
    test: false,
    createdAt: null,
    traceparent: null,
    match: null,
    body: Buffer.from(bytes),
    bodyWithAttributes: null,
  }),
)
