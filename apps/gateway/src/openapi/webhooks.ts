import {
  ENDPOINT_EVENT_TYPES,
  EVENT_TYPES,
  type EventType,
  Image,
  Lead,
  LeadListItem,
  ManagedFields,
  Quote,
  QuoteItem,
} from '@leadwire/contracts'
import { type TSchema, Type } from '@sinclair/typebox'
import { described, leadReferenceSchema, named, nullableOf, timestamp } from '../api/schemas'
import { LeadSuspect } from '../leads/lead-duplicates'
import { FieldChange } from '../leads/leads'
import { Scheduled, ScheduledRecord } from '../scheduling/schedule'
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

const OF_LEADS = ['webhook-sequence', 'webhook-lead-version']

const isAboutEndpoint = (type: EventType) => ENDPOINT_EVENT_TYPES.some((each) => each === type)

const RETRIES =
  'An attempt that is not answered with 2xx in time is repeated after 60 seconds, 5 minutes, 15 minutes, 30 minutes and 1 hour.'

const ATTRIBUTES = {
  attributes: Type.Optional({
    ...ManagedFields.properties.attributes,
    description: 'Only at endpoints that `include` them, and only when the lead has attributes.',
  } as typeof ManagedFields.properties.attributes),
}

const PayloadItem = Type.Omit(QuoteItem, ['product_style'], { title: 'LeadCreatedQuoteItem' })

const PayloadQuote = named('LeadCreatedQuote', { ...Quote.properties, items: Type.Array(PayloadItem) })

const PayloadLead = described(
  'LeadCreatedLead',
  'The lead as it was created. Its items have no `product_style`.',
  { ...Lead.properties, quotes: Type.Array(PayloadQuote), ...ATTRIBUTES },
)

const UpdatedLead = described(
  'LeadUpdatedLead',
  'The lead after the change, without its customer and quotes.',
  {
    ...LeadListItem.properties,
    ...ATTRIBUTES,
    changes: Type.Array(FieldChange, { description: 'What became another one.' }),
  },
)

const AddedAttachment = described('AttachmentAddedAttachment', 'Its url needs the bearer token.', {
  ...Image.properties,
  lead_reference: leadReferenceSchema(),
})

const ErasedLead = named('LeadErasedLead', { reference: leadReferenceSchema() })

const SuspectedLead = named('LeadDuplicateSuspectedLead', {
  reference: leadReferenceSchema(),
  suspects: Type.Array(LeadSuspect, { description: 'Earlier leads: the newest 20, newest first.' }),
})

const ReportedEndpoint = named('ReportedEndpoint', {
  id: Type.Integer({ examples: [1] }),
  host: Type.String({ description: 'Of its URL; the rest may hold secrets.', examples: ['crm.example.com'] }),
  description: nullableOf('string', 'Its description.', 'CRM'),
})

const about = (more: Record<string, TSchema>, since: string) =>
  Type.Object({ endpoint: ReportedEndpoint, since: timestamp(since), ...more })

const FAILED_SINCE = 'Since when all attempts had failed.'

const EVENTS: Record<EventType, { data: TSchema; when: string }> = {
  'lead.created': { data: PayloadLead, when: 'a lead was created' },
  'lead.updated': { data: UpdatedLead, when: 'a lead was changed' },
  'appointment.scheduled': { data: Scheduled, when: 'an appointment was scheduled' },
  'callback.scheduled': { data: Scheduled, when: 'a callback was scheduled' },
  'attachment.added': { data: AddedAttachment, when: 'a file was attached to a lead' },
  'lead.erased': { data: ErasedLead, when: 'the personal data of a lead was erased' },
  'endpoint.failing': {
    data: about({}, 'Since when all attempts have failed.'),
    when: 'another endpoint has answered no attempt with 2xx since the first of three attempts of a delivery',
  },
  'endpoint.disabled': {
    data: about({ disabled_at: timestamp('When it was disabled.') }, FAILED_SINCE),
    when: 'another endpoint was disabled because it only failed',
  },
  'endpoint.recovered': {
    data: about({ recovered_at: timestamp('When an attempt succeeded.') }, FAILED_SINCE),
    when: 'an attempt at another endpoint, of which `endpoint.failing` was sent, has succeeded',
  },
  'delivery.exhausted': {
    data: about(
      {
        count: Type.Integer({ description: 'How many since the event before.', examples: [1] }),
        last_delivery_id: Type.Integer({ examples: [1] }),
      },
      'When the last attempt of the first of them began.',
    ),
    when: 'the last retry of deliveries to another endpoint has failed',
  },
  'appointment.rescheduled': {
    data: ScheduledRecord,
    when: 'an appointment got another date or another user',
  },
  'appointment.cancelled': { data: ScheduledRecord, when: 'an appointment was cancelled' },
  'callback.rescheduled': { data: ScheduledRecord, when: 'a callback got another date or another user' },
  'callback.cancelled': { data: ScheduledRecord, when: 'a callback was cancelled' },
  'lead.duplicate_suspected': {
    data: SuspectedLead,
    when: 'a lead was created and earlier ones seem to be of the same person',
  },
}

/** `lead.created` is LeadCreated: the component of the webhook, and of its body. */
const nameOf = (type: EventType) => type.replace(/(^|[._])[a-z]/g, (start) => start.at(-1)!.toUpperCase())

const pathItemOf = (type: EventType) => {
  const { data, when } = EVENTS[type]
  const name = nameOf(type)
  const isDefault = type === 'lead.created'
  const isReport = isAboutEndpoint(type)
  const note = isReport ? 'At most once an hour for each endpoint. It is in no log. ' : ''
  const subscriber = isDefault
    ? `of the account that subscribes to \`${type}\`, as all do by default,`
    : `that subscribes to \`${type}\``
  // The interface's own event does not name its type.
  const body = named(name, { ...(!isDefault && { type: oneOf([type], undefined, type) }), data })
  const post = {
    operationId: `${name[0]!.toLowerCase()}${name.slice(1)}`,
    tags: ['Events'],
    summary: name.replace(/(?<=[a-z])(?=[A-Z])/g, ' '),
    description: `Sent to each webhook endpoint ${subscriber} when ${when}. ${note}${RETRIES}`,
    security: [],
    parameters: isReport ? HEADERS.filter(({ name }) => !OF_LEADS.includes(name)) : HEADERS,
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
