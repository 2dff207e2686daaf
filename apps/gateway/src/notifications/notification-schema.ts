import type { Notification } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { DeliveryRecord, deliveryRecord } from '../deliveries/delivery-schema'
import { nullableTimestamp } from '../docs/shared-schemas'

const { endpoint_id: _, event_id, ...fields } = DeliveryRecord.properties

export const NotificationRecord = Type.Object(
  {
    ...fields,
    event_id: Type.String({ ...event_id, description: "The message's Message-ID begins with it." }),
    subject: Type.Unsafe<string>({
      type: 'string',
      enum: ['assigned', 'appointment', 'callback'],
      description: 'What the user is told of.',
      examples: ['appointment'],
    }),
    user_id: Type.Integer({ examples: [1] }),
    user_email: Type.String({
      description: 'Where the message goes: the address that the user had when it was recorded.',
      examples: ['sam@example.com'],
    }),
    date: nullableTimestamp('When the appointment or callback is, in UTC.', '2026-12-24T14:30:00.000000Z'),
  },
  { title: 'Notification', description: 'One message on its way to one user.' },
)

/** A notification's public record. */
export const notificationRecord = ({ delivery, subject, userId, userEmail, date }: Notification) => {
  const { endpoint_id: _, ...record } = deliveryRecord(delivery!)
  return { ...record, subject, user_id: userId, user_email: userEmail, date: date ?? null }
}
