import type { Notification } from '@leadwire/contracts'
import { describe, enumeration, NotificationFilters, nullable } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { pagedListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import {
  described,
  leadReferenceSchema,
  named,
  nullableScalar,
  nullableTimestamp,
  recordResponse,
} from '../api/schemas'
import { AttemptRecord, DELIVERY_FIELDS, renderAttempt, renderDelivery } from '../deliveries/deliveries'

const { endpoint_id: _, event: __, event_id, ...fields } = DELIVERY_FIELDS

const NotificationRecord = described(
  'Notification',
  "The delivery of one message to one user, or to the account's contact.",
  {
    ...fields,
    event_id: Type.String({
      ...event_id,
      description: 'The ID of the event. The Message-ID of the email starts with this ID.',
    }),
    subject: enumeration(
      [
        'assigned',
        'appointment',
        'appointment.rescheduled',
        'appointment.cancelled',
        'appointment.due',
        'callback',
        'callback.rescheduled',
        'callback.cancelled',
        'callback.due',
        'digest',
        'sign_in',
        'invitation',
        'webhook_endpoint.failing',
      ],
      "The subject of the message. `digest` lists the events for which the user got no individual messages, because the hourly limit was reached. `appointment.due` and `callback.due` are reminders. `sign_in` and `invitation` have a link with which the user signs in, which works once. `webhook_endpoint.failing` goes to the account's contact when all attempts to an endpoint have failed for 24 hours.",
      'appointment',
    ),
    lead_reference: nullable(leadReferenceSchema()),
    endpoint_id: nullableScalar(
      'integer',
      'The ID of the failing webhook endpoint. null for other subjects.',
    ),
    user_id: nullableScalar('integer', "The ID of the user. null for a message to the account's contact.", 1),
    user_email: Type.String(
      describe(
        'Recipient: the email address of the user or the contact when the message was created.',
        'sam@example.com',
      ),
    ),
    date: nullableTimestamp(
      'When the appointment or callback takes place. ISO 8601, UTC. null for messages about other subjects.',
      '2026-12-24T14:30:00.000000Z',
    ),
  },
)

const renderNotification = (notification: Notification) => {
  const { delivery, subject, userId, userEmail, date, endpointId } = notification
  const { event: _, ...record } = renderDelivery(delivery!)
  return {
    ...record,
    endpoint_id: endpointId ?? null,
    subject,
    user_id: userId || null,
    user_email: userEmail,
    date: date ?? null,
  }
}

export const listNotifications = pagedListOperation({
  route: 'GET /manage/notifications',
  tag: 'Notifications',
  summary: 'List notifications',
  what: 'notifications',
  filters: NotificationFilters,
  record: NotificationRecord,
  find: async ({ accountId, clients, limits }, { lead_reference, ...given }) => {
    const asked = { accountId, leadReference: lead_reference?.toLowerCase(), ...given }
    const { notifications, ...rest } = await clients.webhooks.listNotifications(asked, limits)
    return { ...rest, records: notifications.map(renderNotification) }
  },
})

const NotificationWithAttempts = named('NotificationWithAttempts', {
  ...NotificationRecord.properties,
  attempts: Type.Array(AttemptRecord),
})

export const retrieveNotification = operation({
  route: 'GET /manage/notifications/:id',
  tag: 'Notifications',
  summary: 'Retrieve a notification',
  description: 'Returns a notification with all its attempts.',
  answer: recordResponse(NotificationWithAttempts, 'The notification.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId() }
    const { notification, attempts } = await clients.webhooks.retrieveNotification(key, limits)
    return { ...renderNotification(notification!), attempts: attempts.map(renderAttempt) }
  },
})

export const retryNotification = operation({
  route: 'POST /manage/notifications/:id/retry',
  tag: 'Notifications',
  summary: 'Retry a notification',
  description:
    'Makes one attempt now, whatever the status of the notification. A user who has already received the message receives it again. The retry schedule does not change. The response is 409 if an attempt is in flight or already due.',
  savesResponse: true,
  answer: recordResponse(NotificationRecord, 'The notification. The attempt is enqueued.'),
  problems: ['conflict', 'lead-erased'],
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId() }
    const { notification } = await clients.webhooks.retryNotification(key, limits)
    return renderNotification(notification!)
  },
})
