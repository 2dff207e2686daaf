import type { Notification } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { pagedListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { dataOf, described, leadReferenceSchema, named, nullableOf, nullableTimestamp } from '../api/schemas'
import {
  AttemptRecord,
  attemptRecord,
  DELIVERY_FIELDS,
  DELIVERY_FILTERS,
  deliveryRecord,
} from '../deliveries/deliveries'
import { describe, nullable, oneOf, partial } from '../validation/fields'

const { endpoint_id: _, event: __, event_id, ...fields } = DELIVERY_FIELDS

const NotificationRecord = described(
  'Notification',
  "One message on its way to one user, or to the account's contact.",
  {
    ...fields,
    event_id: Type.String({ ...event_id, description: "The message's Message-ID starts with it." }),
    subject: oneOf(
      [
        'assigned',
        'appointment',
        'appointment.rescheduled',
        'appointment.cancelled',
        'callback',
        'callback.rescheduled',
        'callback.cancelled',
        'webhook_endpoint.failing',
      ],
      "What it is about. `webhook_endpoint.failing` goes to the account's contact, when an endpoint has only failed for 24 hours.",
      'appointment',
    ),
    lead_reference: nullable(leadReferenceSchema()),
    endpoint_id: nullableOf('integer', 'The webhook endpoint that fails; null of the others.'),
    user_id: nullableOf('integer', "Null when it goes to the account's contact.", 1),
    user_email: Type.String(
      describe(
        'Where the message goes: the address that the user, or the contact, had when it was recorded.',
        'sam@example.com',
      ),
    ),
    date: nullableTimestamp('When the appointment or callback is, in UTC.', '2026-12-24T14:30:00.000000Z'),
  },
)

const notificationRecord = (notification: Notification) => {
  const { delivery, subject, userId, userEmail, date, endpointId } = notification
  const { event: _, ...record } = deliveryRecord(delivery!)
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
  filters: partial(DELIVERY_FILTERS),
  record: NotificationRecord,
  find: async ({ accountId, clients, limits }, { lead_reference, ...given }) => {
    const asked = { accountId, leadReference: lead_reference?.toLowerCase(), ...given }
    const { notifications, ...rest } = await clients.webhooks.listNotifications(asked, limits)
    return { ...rest, records: notifications.map(notificationRecord) }
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
  description: 'With every attempt that was made.',
  answer: dataOf(NotificationWithAttempts, 'The notification.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, notificationId: pathId() }
    const { notification, attempts } = await clients.webhooks.retrieveNotification(key, limits)
    return { ...notificationRecord(notification!), attempts: attempts.map(attemptRecord) }
  },
})

export const retryNotification = operation({
  route: 'POST /manage/notifications/:id/retry',
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
