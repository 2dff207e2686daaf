import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { NotificationRecord, notificationRecord } from './notification-schema'

export const retryNotification = operation({
  route: 'POST /manage/notifications/:id/retry',
  operationId: 'retryNotification',
  tag: 'Notifications',
  summary: 'Attempt a notification again',
  description:
    'One attempt at once, whatever its state: a user who was told is told twice. It starts no new schedule and moves none. A conflict while an attempt is under way or due.',
  savesResponse: true,
  answer: dataOf(NotificationRecord, 'The notification, on its way.'),
  problems: ['conflict', 'lead-erased'],
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId() }
    const { notification } = await clients.webhooks.retryNotification(key, limits)
    return notificationRecord(notification!)
  },
})
