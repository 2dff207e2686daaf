import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { NotificationRecord, notificationRecord } from './notification-schema'

export const retryNotification = operation({
  route: 'POST /manage/notifications/:id/retry',
  operationId: 'retryNotification',
  tag: 'Notifications',
  summary: 'Attempt a notification again',
  description:
    'One attempt at once, whatever its state: a user who got the message gets it twice. It starts no new schedule and moves none. A conflict while an attempt is in flight or due.',
  savesResponse: true,
  answer: dataOf(NotificationRecord, 'The notification, on its way.'),
  problems: ['conflict', 'lead-erased'],
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId() }
    const { notification } = await clients.webhooks.retryNotification(key, limits)
    return notificationRecord(notification!)
  },
})
