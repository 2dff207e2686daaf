import { NotificationRequested } from '@leadwire/contracts'
import { isInstant, isUuid } from '../arguments'
import { decodeEvent, type StoredEvent } from '../ingest/stored-event'

const violationOf = (event: NotificationRequested): string | undefined => {
  const { accountId, subject, leadReference, userId, userEmail, date, requestedAt } = event
  if (accountId < 1) return 'it has no account'
  if (!isUuid(leadReference)) return 'it has no lead'
  if (userId < 1 || !userEmail.includes('@')) return 'it has no user'
  if (!isInstant(requestedAt)) return 'it has no time'
  if (subject === 'assigned') return undefined
  if (subject !== 'appointment' && subject !== 'callback') return 'its subject is unknown'
  return isInstant(date) ? undefined : 'it has no date'
}

/** Reads a NotificationRequested message, which is the body of the event as well. Throws InvalidEvent. */
export const readNotification = (message: Uint8Array): StoredEvent => {
  const { event, id } = decodeEvent(NotificationRequested, message, violationOf)
  const { accountId, leadReference } = event
  return {
    ...{ id, type: 'notification.requested', accountId, accountKey: '', leadReference },
    ...{ leadVersion: null, test: false, createdAt: null, traceparent: null },
    body: Buffer.from(message),
  }
}
