import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf, named } from '../api/schemas'
import { AttemptRecord, attemptRecord } from '../deliveries/delivery-schema'
import { NotificationRecord, notificationRecord } from './notification-schema'

const NotificationWithAttempts = named('NotificationWithAttempts')({
  ...NotificationRecord.properties,
  attempts: Type.Array(AttemptRecord),
})

export const retrieveNotification = operation({
  route: 'GET /manage/notifications/:id',
  operationId: 'retrieveNotification',
  tag: 'Notifications',
  summary: 'Retrieve a notification',
  description: 'With every attempt that was made.',
  answer: dataOf(NotificationWithAttempts, 'The notification.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId() }
    const { notification, attempts } = await clients.webhooks.retrieveNotification(key, limits)
    return { ...notificationRecord(notification!), attempts: attempts.map(attemptRecord) }
  },
})
