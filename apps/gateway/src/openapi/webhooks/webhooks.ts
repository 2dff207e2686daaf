import { EVENT_TYPES, type EventType } from '@leadwire/contracts'
import { APPOINTMENT_SCHEDULED, ATTACHMENT_ADDED, CALLBACK_SCHEDULED, LEAD_UPDATED } from './changes'
import { LEAD_CREATED } from './lead-created'

const PATH_ITEMS: Record<EventType, [name: string, item: object]> = {
  'lead.created': ['LeadCreated', LEAD_CREATED],
  'lead.updated': ['LeadUpdated', LEAD_UPDATED],
  'appointment.scheduled': ['AppointmentScheduled', APPOINTMENT_SCHEDULED],
  'callback.scheduled': ['CallbackScheduled', CALLBACK_SCHEDULED],
  'attachment.added': ['AttachmentAdded', ATTACHMENT_ADDED],
}

/** The webhooks of the OpenAPI document. By reference: of one that stands there openapi-generator makes Python that does not compile. */
export const WEBHOOKS = {
  webhooks: Object.fromEntries(
    EVENT_TYPES.map((kind) => [kind, { $ref: `#/components/pathItems/${PATH_ITEMS[kind][0]}` }]),
  ),
  pathItems: Object.fromEntries(Object.values(PATH_ITEMS)),
}
