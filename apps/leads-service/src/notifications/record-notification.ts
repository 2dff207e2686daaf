import { randomUUID } from 'node:crypto'
import { NotificationRequested } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import { recordEvents } from '../outbox/record-events'

/** Records, in the transaction of what it tells of, that a user is to be told of it. */
export const recordNotification = (
  tx: OpenTransaction,
  notification: {
    accountId: number
    subject: 'assigned' | 'appointment' | 'callback'
    userId: number
    leadReference: string
    date?: string
    entryId?: number
  },
): void => {
  const eventId = randomUUID()
  const payload = NotificationRequested.encode(
    NotificationRequested.fromPartial({ ...notification, eventId }),
  ).finish()
  recordEvents(tx, [{ eventId, accountId: notification.accountId, kind: 'notification.requested', payload }])
}
