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

export interface StoredEvent extends Pick<Event, 'type' | 'test' | 'accountId' | 'accountKey'> {
  id: string
  /** Null for a notification that is not about a lead. */
  leadReference: string | null
  /** The lead's version after the change. Null for a notification, which is not in its account's log. */
  leadVersion: number | null
  body: Buffer
  /** The body for endpoints that include attributes. Null if it is the same as `body`. */
  bodyWithAttributes: Buffer | null
  /**
   * The encrypted link with which the user of a notification signs in. The body does not contain the link.
   * See `notifications/sign-in-links.ts`.
   */
  sealedLink?: Buffer
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

const ENTRY = /^(appointment|callback)(\.rescheduled|\.cancelled|\.due)?$/

const findLeadViolation = ({ subject, leadReference, date, invitationId }: NotificationRequested) => {
  if (!isUuid(leadReference)) return 'the lead reference is missing or invalid'
  if (subject === 'assigned') return undefined
  if (!ENTRY.test(subject)) return 'the subject is unknown'
  if (invitationId !== undefined && !isUuid(invitationId)) return 'the invitation id is invalid'
  return date !== undefined && isInstant(date) ? undefined : 'the date is missing or invalid'
}

const SIGN_IN_SUBJECTS: ReadonlySet<string> = new Set(['sign_in', 'invitation'])

/** Returns whether a notification has a link with which its user signs in. */
export const isSignIn = ({ subject }: NotificationRequested): boolean => SIGN_IN_SUBJECTS.has(subject)

const findSignInViolation = ({ leadReference, date, sealedLink, linkExpiresAt }: NotificationRequested) => {
  if (leadReference !== '') return 'the notification must not have a lead'
  if (date !== undefined) return 'the notification must not have a date'
  if (sealedLink === undefined || sealedLink.length === 0) return 'the link is missing'
  const isValid = linkExpiresAt !== undefined && isInstant(linkExpiresAt)
  return isValid ? undefined : 'the end of the link is missing or invalid'
}

/** Returns the body of a notification, and separately its encrypted link, which the body does not contain. */
const separateLink = (
  message: NotificationRequested,
  bytes: Uint8Array,
): Pick<StoredEvent, 'body' | 'sealedLink'> => {
  const { sealedLink } = message
  if (sealedLink === undefined) return { body: Buffer.from(bytes) }
  const rest = NotificationRequested.encode({ ...message, sealedLink: undefined }).finish()
  return { body: Buffer.from(rest), sealedLink: Buffer.from(sealedLink) }
}

/** Reads a NotificationRequested message. The message without its link becomes the body of the event. */
export const readNotification = createReader(
  NotificationRequested,
  (message) => {
    const { accountId, userId, userEmail, requestedAt } = message
    if (accountId < 1) return 'the account id is missing'
    if (userId < 1 || !userEmail.includes('@')) return 'the user is missing or invalid'
    if (!isInstant(requestedAt)) return 'the time is missing or invalid'
    return isSignIn(message) ? findSignInViolation(message) : findLeadViolation(message)
  },
  (message, bytes) => ({
    type: 'notification.requested',
    accountId: message.accountId,
    accountKey: '',
    leadReference: isSignIn(message) ? null : message.leadReference,
    leadVersion: null,
    test: false,
    createdAt: null,
    traceparent: null,
    match: null,
    ...separateLink(message, bytes),
    bodyWithAttributes: null,
  }),
)
