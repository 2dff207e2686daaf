import type { EventType } from '@leadwire/contracts'
import { type TSchema, Type } from '@sinclair/typebox'
import { leadReferenceSchema, named } from '../../api/schemas'
import { FieldChange } from '../../leads/lead-history-schema'
import { Image, LeadListItem } from '../../leads/lead-schema'
import { Scheduled } from '../../scheduling/schedule-fields'
import { webhook } from './webhook'

const bodyOf = (title: string, type: Exclude<EventType, 'lead.created'>, data: TSchema) =>
  Type.Object(
    { type: Type.Unsafe<string>({ type: 'string', enum: [type], examples: [type] }), data },
    { title },
  )

const UpdatedLead = named(
  'LeadUpdatedLead',
  'The lead after the change, without its customer and quotes.',
)({
  ...LeadListItem.properties,
  changes: Type.Array(FieldChange, { description: 'What became another one.' }),
})

const AddedAttachment = named(
  'AttachmentAddedAttachment',
  'Its url needs the bearer token.',
)({ ...Image.properties, lead_reference: leadReferenceSchema() })

/** The webhooks of what happens to a lead after its creation. */
export const LEAD_UPDATED = webhook({
  operationId: 'leadUpdated',
  summary: 'Lead Updated',
  description: 'Sent to each webhook endpoint that subscribes to `lead.updated` when a lead was changed.',
  body: bodyOf('LeadUpdated', 'lead.updated', UpdatedLead),
})

export const APPOINTMENT_SCHEDULED = webhook({
  operationId: 'appointmentScheduled',
  summary: 'Appointment Scheduled',
  description:
    'Sent to each webhook endpoint that subscribes to `appointment.scheduled` when an appointment was scheduled.',
  body: bodyOf('AppointmentScheduled', 'appointment.scheduled', Scheduled),
})

export const CALLBACK_SCHEDULED = webhook({
  operationId: 'callbackScheduled',
  summary: 'Callback Scheduled',
  description:
    'Sent to each webhook endpoint that subscribes to `callback.scheduled` when a callback was scheduled.',
  body: bodyOf('CallbackScheduled', 'callback.scheduled', Scheduled),
})

export const ATTACHMENT_ADDED = webhook({
  operationId: 'attachmentAdded',
  summary: 'Attachment Added',
  description:
    'Sent to each webhook endpoint that subscribes to `attachment.added` when a file was attached to a lead.',
  body: bodyOf('AttachmentAdded', 'attachment.added', AddedAttachment),
})
