import type { Notification } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { named, nullableOf, nullableTimestamp } from '../api/schemas'
import { DeliveryRecord, deliveryRecord } from '../deliveries/delivery-schema'
import { describe, nullable, oneOf } from '../validation/fields'

const { endpoint_id: _, event: __, event_id, lead_reference, ...fields } = DeliveryRecord.properties

export const NotificationRecord = named(
  'Notification',
  "One message on its way to one user, or to the account's contact.",
)({
  ...fields,
  event_id: Type.String({ ...event_id, description: "The message's Message-ID starts with it." }),
  subject: oneOf(
    ['assigned', 'appointment', 'callback', 'webhook_endpoint.failing'],
    "What it is about. `webhook_endpoint.failing` goes to the account's contact, when an endpoint has only failed for 24 hours.",
    'appointment',
  ),
  lead_reference: nullable(lead_reference),
  endpoint_id: nullableOf('integer', 'The webhook endpoint that fails; null of the others.'),
  user_id: nullableOf('integer', "Null when it goes to the account's contact.", 1),
  user_email: Type.String(
    describe(
      'Where the message goes: the address that the user, or the contact, had when it was recorded.',
      'sam@example.com',
    ),
  ),
  date: nullableTimestamp('When the appointment or callback is, in UTC.', '2026-12-24T14:30:00.000000Z'),
})

export const notificationRecord = (notification: Notification) => {
  const { delivery, subject, userId, userEmail, date, endpointId } = notification
  const { event: _, ...record } = deliveryRecord(delivery!)
  return {
    ...record,
    lead_reference: record.lead_reference || null,
    endpoint_id: endpointId ?? null,
    subject,
    user_id: userId || null,
    user_email: userEmail,
    date: date ?? null,
  }
}
