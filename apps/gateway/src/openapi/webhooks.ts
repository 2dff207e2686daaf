import {
  Customer,
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
import { enumeration } from '@leadwire/requests'
import { type TSchema, Type } from '@sinclair/typebox'
import { described, leadReferenceSchema, named, nullableScalar, timestamp } from '../api/schemas'
import { LeadSuspect } from '../leads/lead-duplicates'
import { FieldChange } from '../leads/leads'
import { Note } from '../leads/notes'
import { Scheduled, ScheduledRecord } from '../scheduling/schedule'

const HEADERS = Object.entries({
  'User-Agent': '`Leadwire/` followed by the version.',
  'X-SERVICE-Signature':
    "The lower-case hexadecimal HMAC-SHA1 of the raw body, keyed with the endpoint's secret.",
  'X-SERVICE-Account-Key': "The account's API key.",
  'webhook-id': 'The ID of the event, the same on every attempt (Standard Webhooks 1.0.0).',
  'webhook-timestamp': 'When the attempt started, in Unix seconds.',
  'webhook-signature':
    '`v1,` followed by an HMAC-SHA256 (Standard Webhooks 1.0.0). During a secret rotation, one signature for each secret, separated by a space.',
  'webhook-sequence':
    "The number of the event in the account's log: 1, 2, 3 … without gaps. Absent from test events.",
  'webhook-lead-version': 'The version of the lead after the change. A new lead has version 1.',
  traceparent: 'W3C trace context.',
}).map(([name, description]) => ({
  name,
  in: 'header',
  required: name !== 'webhook-sequence',
  description,
  schema: { type: 'string' },
}))

const LEAD_HEADERS = ['webhook-sequence', 'webhook-lead-version']

const isAboutEndpoint = (type: EventType) => ENDPOINT_EVENT_TYPES.some((each) => each === type)

const RETRIES =
  'An attempt fails unless the receiver responds with 2xx in time. Failed attempts are retried after 60 seconds, 5 minutes, 15 minutes, 30 minutes and 1 hour.'

const ATTRIBUTES = {
  attributes: Type.Optional({
    ...ManagedFields.properties.attributes,
    description:
      'The attributes of the lead. Present only if the `include` of the endpoint has `attributes` and the lead has attributes.',
  } as typeof ManagedFields.properties.attributes),
}

const PayloadItem = Type.Omit(QuoteItem, ['product_style'], { title: 'LeadCreatedQuoteItem' })

const PayloadQuote = named('LeadCreatedQuote', { ...Quote.properties, items: Type.Array(PayloadItem) })

const PayloadLead = described('LeadCreatedLead', 'The lead as created. Items have no `product_style`.', {
  ...Lead.properties,
  quotes: Type.Array(PayloadQuote),
  ...ATTRIBUTES,
})

const UpdatedLead = described(
  'LeadUpdatedLead',
  'The lead after the change, without its quotes. `customer` is present only if the customer was changed.',
  {
    ...LeadListItem.properties,
    ...ATTRIBUTES,
    customer: Type.Optional(Customer),
    changes: Type.Array(FieldChange, { description: 'The changed fields.' }),
  },
)

const AddedAttachment = described('AttachmentAddedAttachment', 'An attachment. `url` needs a bearer token.', {
  ...Image.properties,
  lead_reference: leadReferenceSchema(),
})

const ErasedLead = named('LeadErasedLead', { reference: leadReferenceSchema() })

const SuspectedLead = named('LeadDuplicateSuspectedLead', {
  reference: leadReferenceSchema(),
  suspects: Type.Array(LeadSuspect, {
    description: 'Earlier leads that may be from the same person, newest first, at most 20.',
  }),
})

const AddedNote = named('NoteAddedNote', { ...Note.properties, lead_reference: leadReferenceSchema() })

const ReportedEndpoint = named('ReportedEndpoint', {
  id: Type.Integer({ examples: [1] }),
  host: Type.String({
    description: 'Host of the endpoint URL. The rest of the URL may hold secrets and is omitted.',
    examples: ['crm.example.com'],
  }),
  description: nullableScalar('string', 'Description of the endpoint.', 'CRM'),
})

const about = (more: Record<string, TSchema>, since: string) =>
  Type.Object({ endpoint: ReportedEndpoint, since: timestamp(since), ...more })

const FAILED_SINCE =
  'When the failures started. All attempts from then on failed, until the endpoint was disabled or recovered.'

const EVENTS: Record<EventType, { data: TSchema; tells?: string; when: string }> = {
  'lead.created': { data: PayloadLead, when: 'a lead was created' },
  'lead.updated': { data: UpdatedLead, when: 'a lead was changed' },
  'appointment.scheduled': { data: Scheduled, when: 'an appointment was scheduled' },
  'callback.scheduled': { data: Scheduled, when: 'a callback was scheduled' },
  'attachment.added': { data: AddedAttachment, when: 'a file was attached to a lead' },
  'lead.erased': { data: ErasedLead, when: 'the personal data of a lead was erased' },
  'endpoint.failing': {
    data: about({}, 'When the failures started. All attempts from then on have failed.'),
    tells: 'another endpoint of the account is failing',
    when: 'three attempts of one delivery to the other endpoint have failed, and it has not responded with 2xx since the first of these attempts',
  },
  'endpoint.disabled': {
    data: about({ disabled_at: timestamp('When the endpoint was disabled.') }, FAILED_SINCE),
    tells: 'another endpoint of the account was disabled',
    when: 'the other endpoint was disabled because all its attempts had failed for too long',
  },
  'endpoint.recovered': {
    data: about({ recovered_at: timestamp('When an attempt succeeded.') }, FAILED_SINCE),
    tells: 'another endpoint of the account has recovered',
    when: 'an attempt to the other endpoint has succeeded after `endpoint.failing` was sent',
  },
  'delivery.exhausted': {
    data: about(
      {
        count: Type.Integer({
          description:
            'Number of exhausted deliveries to the endpoint since the previous `delivery.exhausted` event.',
          examples: [1],
        }),
        last_delivery_id: Type.Integer({ examples: [1] }),
      },
      'When the first of the `count` deliveries was exhausted: the start of its last attempt.',
    ),
    tells: 'deliveries to another endpoint of the account are exhausted',
    when: 'deliveries to the other endpoint have failed their last retry',
  },
  'appointment.rescheduled': {
    data: ScheduledRecord,
    when: 'the date or user of an appointment was changed',
  },
  'appointment.cancelled': { data: ScheduledRecord, when: 'an appointment was cancelled' },
  'callback.rescheduled': { data: ScheduledRecord, when: 'the date or user of a callback was changed' },
  'callback.cancelled': { data: ScheduledRecord, when: 'a callback was cancelled' },
  'lead.duplicate_suspected': {
    data: SuspectedLead,
    when: 'a new lead seems to be from the same person as earlier leads',
  },
  'note.added': { data: AddedNote, when: 'a note was added to a lead' },
  'appointment.due': {
    data: ScheduledRecord,
    when: 'an open appointment is due, which is `appointment_due_minutes` of the account before its date',
  },
  'callback.due': {
    data: ScheduledRecord,
    when: 'an open callback is due, which is `callback_due_minutes` of the account before its date',
  },
}

/**
 * Returns the component name of an event's webhook and of its body, such as LeadCreated for `lead.created`.
 */
const toComponentName = (type: EventType) =>
  type.replace(/(^|[._])[a-z]/g, (start) => start.at(-1)!.toUpperCase())

const describeWebhook = (type: EventType) => {
  const { data, tells, when } = EVENTS[type]
  const name = toComponentName(type)
  const isDefault = type === 'lead.created'
  const isReport = isAboutEndpoint(type)
  const note = isReport
    ? 'Sent at most once an hour about the same endpoint. Not part of the event log. '
    : ''
  const subject = tells === undefined ? '' : `Tells an endpoint that ${tells}. `
  const byDefault = isDefault ? ', which is the default subscription' : ''
  // The body of `lead.created` has no `type`, because the lead API defines this event without a type.
  const body = named(name, { ...(!isDefault && { type: enumeration([type], undefined, type) }), data })
  const post = {
    operationId: `${name[0]!.toLowerCase()}${name.slice(1)}`,
    tags: ['Events'],
    summary: name.replace(/(?<=[a-z])(?=[A-Z])/g, ' '),
    description: `${subject}Sent when ${when}. Goes to each webhook endpoint that subscribes to \`${type}\`${byDefault}. ${note}${RETRIES}`,
    security: [],
    parameters: isReport ? HEADERS.filter(({ name }) => !LEAD_HEADERS.includes(name)) : HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema: body } } },
    responses: {
      '2XX': { description: 'Accepted. The first 4 KiB of the response body are stored.' },
      '4XX': { description: 'The attempt failed. Any status other than 2xx is a failure.' },
    },
  }
  return [name, { post }] as const
}

/**
 * The webhooks of the document. Each webhook is a reference, because openapi-generator makes invalid Python
 * from inline webhooks.
 */
export const WEBHOOKS = Object.fromEntries(
  EVENT_TYPES.map((type) => [type, { $ref: `#/components/pathItems/${toComponentName(type)}` }]),
)

export const WEBHOOK_PATH_ITEMS = Object.fromEntries(EVENT_TYPES.map(describeWebhook))
