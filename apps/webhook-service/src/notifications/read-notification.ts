import { NotificationRequested } from '@leadwire/contracts'
import { type StoredEvent, UnfitEvent } from '../events/stored-event'
import { isInstant } from '../instant'
import { isUuid } from '../uuid'

const faultOf = (event: NotificationRequested): string | undefined => {
  const { accountId, subject, leadReference, userId, userEmail, date, requestedAt } = event
  if (accountId < 1) return 'it has no account'
  if (!isUuid(leadReference)) return 'it has no lead'
  if (userId < 1 || !userEmail.includes('@')) return 'it has no user'
  if (!isInstant(requestedAt)) return 'it has no time'
  if (subject === 'assigned') return undefined
  if (subject !== 'appointment' && subject !== 'callback') return 'its subject is unknown'
  return isInstant(date) ? undefined : 'it has no date'
}

const decode = (message: Uint8Array): NotificationRequested => {
  try {
    return NotificationRequested.decode(message)
  } catch (error) {
    throw new UnfitEvent(`it is no event: ${(error as Error).message}`)
  }
}

/** Reads a NotificationRequested message; its body is the message. Throws UnfitEvent when it can't be one: then it never will be. */
export const readNotification = (message: Uint8Array): StoredEvent => {
  const event = decode(message)
  if (!isUuid(event.eventId)) throw new UnfitEvent('it has no id')
  const id = event.eventId.toLowerCase()
  const fault = faultOf(event)
  if (fault) throw new UnfitEvent(fault, id)
  const { accountId, leadReference } = event
  return {
    id,
    type: 'notification.requested',
    leadVersion: null,
    test: false,
    createdAt: null,
    accountId,
    accountKey: '',
    leadReference,
    body: Buffer.from(message),
    traceparent: null,
  }
}
