import { Type } from '@sinclair/typebox'
import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { AttemptRecord, attemptRecord } from '../deliveries/delivery-schema'
import { NotificationRecord, notificationRecord } from './notification-schema'

const NotificationWithAttempts = Type.Object(
  {
    ...NotificationRecord.properties,
    attempts: Type.Array(AttemptRecord),
  },
  { title: 'NotificationWithAttempts' },
)

/** GET /manage/notifications/:id: a notification with every attempt. */
export const retrieveNotification = managementOperation({
  method: 'GET',
  url: '/manage/notifications/:id',
  operationId: 'retrieveNotification',
  tag: 'Notifications',
  summary: 'Retrieve a notification',
  description: 'With every attempt that was made.',
  params: IdParams,
  answer: { description: 'The notification.', schema: dataOf(NotificationWithAttempts) },
  run: async ({ request, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId(request) }
    const { notification, attempts } = await clients.webhooks.retrieveNotification(key, limits)
    return { ...notificationRecord(notification!), attempts: attempts.map(attemptRecord) }
  },
})
