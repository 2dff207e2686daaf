import { EVENT_TYPES, type EventType, Image, Lead, LeadListItem, Quote, QuoteItem } from '@leadwire/contracts'
import { type TSchema, Type } from '@sinclair/typebox'
import { leadReferenceSchema, named } from '../api/schemas'
import { FieldChange } from '../leads/leads'
import { Scheduled } from '../scheduling/schedule'
import { oneOf } from '../validation/fields'

const HEADERS = Object.entries({
  'User-Agent': '`Leadwire/` and the version.',
  'X-SERVICE-Signature':
    "The lower-case hexadecimal HMAC-SHA1 of the raw body; its key is the endpoint's secret.",
  'X-SERVICE-Account-Key': "The account's API key.",
  'webhook-id': "The event's id, the same on every attempt (Standard Webhooks 1.0.0).",
  'webhook-timestamp': 'When the attempt began, in seconds since 1970.',
  'webhook-signature':
    '`v1,` and an HMAC-SHA256 (Standard Webhooks 1.0.0). While a secret is being replaced there is one of each secret, with a space between.',
  'webhook-sequence':
    "The event's number in its account's log: 1, 2, 3 … without gaps. Absent from a test send.",
  'webhook-lead-version': "The lead's version after the change; a new lead has version 1.",
  traceparent: 'W3C trace context.',
}).map(([name, description]) => ({
  ...{ name, in: 'header', required: name !== 'webhook-sequence' },
  ...{ description, schema: { type: 'string' } },
}))

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

const ErasedLead = named('LeadErasedLead')({ reference: leadReferenceSchema() })

const EVENTS: Record<EventType, { data: TSchema; when: string }> = {
  'lead.created': { data: PayloadLead, when: 'a lead was created' },
  'lead.updated': { data: UpdatedLead, when: 'a lead was changed' },
  'appointment.scheduled': { data: Scheduled, when: 'an appointment was scheduled' },
  'callback.scheduled': { data: Scheduled, when: 'a callback was scheduled' },
  'attachment.added': { data: AddedAttachment, when: 'a file was attached to a lead' },
  'lead.erased': { data: ErasedLead, when: 'the personal data of a lead was erased' },
}

/** `lead.created` is LeadCreated: the component of the webhook, and of its body. */
const nameOf = (type: EventType) => type.replace(/(^|\.)[a-z]/g, (start) => start.at(-1)!.toUpperCase())

const pathItemOf = (type: EventType) => {
  const { data, when } = EVENTS[type]
  const name = nameOf(type)
  const isDefault = type === 'lead.created'
  const subscriber = isDefault
    ? `of the account that subscribes to \`${type}\`, as all do by default,`
    : `that subscribes to \`${type}\``
  // The interface's own event does not name its type.
  const body = named(name)({ ...(!isDefault && { type: oneOf([type], undefined, type) }), data })
  const post = {
    operationId: `${name[0]!.toLowerCase()}${name.slice(1)}`,
    tags: ['Events'],
    summary: name.replace(/(?<=[a-z])(?=[A-Z])/, ' '),
    description: `Sent to each webhook endpoint ${subscriber} when ${when}. ${RETRIES}`,
    security: [],
    parameters: HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema: body } } },
    responses: {
      '2XX': { description: 'The webhook has arrived. The body of the answer is kept, up to 4 KiB.' },
      '4XX': { description: 'The attempt failed, as with every other status.' },
    },
  }
  return [name, { post }] as const
}

/** They are references: openapi-generator makes Python that does not compile of a webhook in place. */
export const WEBHOOKS = Object.fromEntries(
  EVENT_TYPES.map((type) => [type, { $ref: `#/components/pathItems/${nameOf(type)}` }]),
)

export const WEBHOOK_PATH_ITEMS = Object.fromEntries(EVENT_TYPES.map(pathItemOf))
