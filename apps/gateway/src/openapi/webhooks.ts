import { EVENT_TYPES, type EventType, Image, Lead, LeadListItem, Quote, QuoteItem } from '@leadwire/contracts'
import { type TSchema, Type } from '@sinclair/typebox'
import { leadReferenceSchema, named } from '../api/schemas'
import { FieldChange } from '../leads/leads'
import { Scheduled } from '../scheduling/schedule'
import { oneOf } from '../validation/fields'

const header = (name: string, description: string, required = true) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
})
const HEADERS = [
  header('User-Agent', '`Leadwire/` and the version.'),
  header(
    'X-SERVICE-Signature',
    "The lower-case hexadecimal HMAC-SHA1 of the raw body; its key is the endpoint's secret.",
  ),
  header('X-SERVICE-Account-Key', "The account's API key."),
  header('webhook-id', "The event's id, the same on every attempt (Standard Webhooks 1.0.0)."),
  header('webhook-timestamp', 'When the attempt began, in seconds since 1970.'),
  header(
    'webhook-signature',
    '`v1,` and an HMAC-SHA256 (Standard Webhooks 1.0.0). While a secret is being replaced there is one of each secret, with a space between.',
  ),
  header(
    'webhook-sequence',
    "The event's number in its account's log: 1, 2, 3 … without gaps. Absent from a test send.",
    false,
  ),
  header('webhook-lead-version', "The lead's version after the change; a new lead has version 1."),
  header('traceparent', 'W3C trace context.'),
]

const RETRIES =
  'An attempt that is not answered with 2xx in time is repeated after 60 seconds, 5 minutes, 15 minutes, 30 minutes and 1 hour.'

const PayloadItem = Type.Omit(QuoteItem, ['product_style'], { title: 'LeadCreatedQuoteItem' })

const PayloadQuote = named('LeadCreatedQuote')({ ...Quote.properties, items: Type.Array(PayloadItem) })

const PayloadLead = named(
  'LeadCreatedLead',
  'The lead as it was created. Its items have no `product_style`.',
)({ ...Lead.properties, quotes: Type.Array(PayloadQuote) })

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

interface Webhook {
  /** Its title is the name of the webhook's component. */
  body: TSchema
  when: string
}

const bodyOf = (title: string, type: Exclude<EventType, 'lead.created'>, data: TSchema) =>
  named(title)({ type: oneOf([type], undefined, type), data })

const WEBHOOK_OF: Record<EventType, Webhook> = {
  'lead.created': {
    body: named('LeadCreated')({ data: PayloadLead }),
    when: 'of the account that subscribes to `lead.created`, as all do by default, when a lead was created',
  },
  'lead.updated': {
    body: bodyOf('LeadUpdated', 'lead.updated', UpdatedLead),
    when: 'that subscribes to `lead.updated` when a lead was changed',
  },
  'appointment.scheduled': {
    body: bodyOf('AppointmentScheduled', 'appointment.scheduled', Scheduled),
    when: 'that subscribes to `appointment.scheduled` when an appointment was scheduled',
  },
  'callback.scheduled': {
    body: bodyOf('CallbackScheduled', 'callback.scheduled', Scheduled),
    when: 'that subscribes to `callback.scheduled` when a callback was scheduled',
  },
  'attachment.added': {
    body: bodyOf('AttachmentAdded', 'attachment.added', AddedAttachment),
    when: 'that subscribes to `attachment.added` when a file was attached to a lead',
  },
}

const pathItemOf = ({ body, when }: Webhook) => {
  const name = body.title!
  const item = {
    post: {
      operationId: `${name[0]!.toLowerCase()}${name.slice(1)}`,
      tags: ['Events'],
      summary: name.replace(/(?<=[a-z])(?=[A-Z])/, ' '),
      description: `Sent to each webhook endpoint ${when}. ${RETRIES}`,
      security: [],
      parameters: HEADERS,
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
      responses: {
        '2XX': { description: 'The webhook has arrived. The body of the answer is kept, up to 4 KiB.' },
        '4XX': { description: 'The attempt failed, as with every other status.' },
      },
    },
  }
  return [name, item] as const
}

/**
 * The webhooks of the OpenAPI document (interface: Events). They are references: openapi-generator makes Python that does not compile
 * of a webhook in place.
 */
export const WEBHOOKS = {
  webhooks: Object.fromEntries(
    EVENT_TYPES.map((type) => [type, { $ref: `#/components/pathItems/${WEBHOOK_OF[type].body.title}` }]),
  ),
  pathItems: Object.fromEntries(Object.values(WEBHOOK_OF).map(pathItemOf)),
}
