import { Image, Lead } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { named, timestamp } from '../api/schemas'
import { AttemptRecord, DeliveryRecord } from '../deliveries/delivery-schema'
import { LeadHistoryEntry } from '../leads/lead-history-schema'
import { Scheduled } from '../scheduling/schedule-fields'
import { describe } from '../validation/fields'

const { endpoint_id: _, event: __, ...notificationFields } = DeliveryRecord.properties

const exportedEvent = (title: string, body: string, delivery: object) =>
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      created_at: timestamp('When it was stored.'),
      body: Type.Unknown({ description: body }),
      deliveries: Type.Array(
        Type.Object({ ...delivery, attempts: Type.Array(AttemptRecord) }, { title: `${title}Delivery` }),
      ),
    },
    { title },
  )

export const ExportedLead = named(
  'ExportedLead',
  'All that is held of a lead.',
)({
  lead: Lead,
  history: Type.Array(LeadHistoryEntry),
  appointments: Type.Array(Scheduled),
  callbacks: Type.Array(Scheduled),
  attachments: Type.Array(Image, { description: 'The files are at their urls.' }),
  webhooks: Type.Array(
    exportedEvent(
      'ExportedWebhook',
      'What is sent. Null where it was erased, where no endpoint subscribed to it, or where there would be too much of it.',
      DeliveryRecord.properties,
    ),
  ),
  notifications: Type.Array(
    exportedEvent('ExportedNotification', 'What the message is made of; null likewise.', notificationFields),
  ),
  complete: Type.Boolean(
    describe(
      'Whether that is all. Otherwise each list has its newest records; the lists of a lead have the others.',
      true,
    ),
  ),
})
