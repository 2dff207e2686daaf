import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { NotificationRecord, notificationRecord } from './notification-schema'

/** POST /manage/notifications/:id/retry. */
export const retryNotification = managementOperation({
  method: 'POST',
  url: '/manage/notifications/:id/retry',
  operationId: 'retryNotification',
  tag: 'Notifications',
  summary: 'Attempt a notification again',
  description:
    'One attempt at once, whatever its state: a user who was told is told twice. It starts no new schedule and moves none. A conflict while an attempt is under way or due.',
  params: IdParams,
  answer: { description: 'The notification, on its way.', schema: dataOf(NotificationRecord) },
  problems: ['conflict', 'lead-erased'],
  run: async ({ request, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId(request) }
    const { notification } = await clients.webhooks.retryNotification(key, limits)
    return notificationRecord(notification!)
  },
})
