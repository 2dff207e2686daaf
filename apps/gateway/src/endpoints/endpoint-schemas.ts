import {
  ENDPOINT_INCLUDES,
  ENDPOINT_LEADS,
  type Endpoint,
  EVENT_TYPES,
  filterRecord,
  LEAD_STATUSES,
  MAX_FILTER_VALUES,
  VISITOR_REFERRERS,
} from '@leadwire/contracts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { recordOf } from '../api/record'
import { described, named, nullableTimestamp, orNull, timestamp } from '../api/schemas'
import { describe, nullable, oneOf, partial, text } from '../validation/fields'

export const eventTypes = (description: string) =>
  Type.Array(oneOf(EVENT_TYPES), {
    minItems: 1,
    maxItems: EVENT_TYPES.length,
    uniqueItems: true,
    ...describe(description, ['lead.created']),
  })

/** What is given of an endpoint, and shown as it was given. */
export const endpointFields = {
  url: text(
    'Where webhooks are sent: http or https, without credentials.',
    'https://crm.example.com/webhooks/leads',
    { maxLength: 2048, format: 'web-url' },
  ),
  description: nullable(text('For your own eyes. Null clears it.', 'CRM')),
  enabled: Type.Boolean(describe('While it is false, deliveries are held.', true)),
  events: eventTypes('What it subscribes to; `lead.created` alone by default.'),
  leads: oneOf(ENDPOINT_LEADS, 'The leads whose events it gets; `all` by default.', 'live'),
  include: Type.Array(oneOf(ENDPOINT_INCLUDES), {
    maxItems: ENDPOINT_INCLUDES.length,
    uniqueItems: true,
    description:
      'Optional parts of its webhook bodies. `attributes` adds the attributes of the lead, if it has any. Empty by default.',
    examples: [['attributes']],
  }),
}

const { url: _, ...otherFields } = endpointFields

/** Header names and values; null keeps a value. */
const endpointHeaders = Type.Record(
  Type.String(),
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 2048 }),
  {
    maxProperties: 10,
    description:
      'Headers that each attempt carries beside its own, such as `Authorization`; encrypted where they are stored. They replace those that are there; null keeps the value that a header has. In JSON only: `{"Authorization": "Bearer …"}`.',
  },
)

const valuesOf = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Array(schema, { minItems: 1, maxItems: MAX_FILTER_VALUES, description })

const filterValues = {
  status: valuesOf(oneOf(LEAD_STATUSES), 'Its status after the change.'),
  referrer: valuesOf(oneOf(VISITOR_REFERRERS), 'Its referrer.'),
  postcode: valuesOf(
    text(undefined, undefined, { maxLength: 10, format: 'postcode-start' }),
    'What its postcode starts with; `M1` also finds `M12 4AB`. Case and spaces do not matter.',
  ),
  user_email: valuesOf(
    text(undefined, undefined, { format: 'email' }),
    'The email address of its user, in any case.',
  ),
}

const endpointFilter = nullable(
  partial(filterValues, {
    description:
      'The endpoint gets the events of leads that have one of the values of each list. It replaces the filter that is there; null or `{}` removes it. In JSON only.',
  }),
)

/** Fields that an endpoint shows in another form. */
export const moreFields = { filter: endpointFilter, headers: endpointHeaders }

const FilterRecord = named('WebhookEndpointFilter', {
  status: Type.Optional(Type.Array(oneOf(LEAD_STATUSES))),
  referrer: Type.Optional(Type.Array(oneOf(VISITOR_REFERRERS))),
  postcode: Type.Optional(Type.Array(Type.String())),
  user_email: Type.Optional(Type.Array(Type.String())),
})

interface Given {
  events?: string[]
  filter?: Static<typeof endpointFilter>
  include?: string[]
  headers?: Record<string, string | null>
}

/** The fields as webhook-service's requests have them. */
export const requestOf = <Fields extends Given>({ events, filter, include, headers, ...fields }: Fields) => ({
  ...fields,
  events: events && { types: events },
  filter: filter === undefined ? undefined : { ...filter, userEmail: filter?.user_email ?? [] },
  include: include && { parts: include },
  headers: headers && {
    headers: Object.entries(headers).map(([name, value]) => ({ name, value: value ?? undefined })),
  },
})

export const endpointSecret = text(
  'The key that signs, 16 characters or more; by default one is made for you.',
  undefined,
  { minLength: 16, format: 'one-line' },
)

export const EndpointRecord = described('WebhookEndpoint', 'An address that webhooks are sent to.', {
  id: Type.Integer({ examples: [1] }),
  url: Type.String({
    format: 'uri',
    description: 'Where webhooks are sent.',
    examples: ['https://crm.example.com/webhooks/leads'],
  }),
  ...otherFields,
  filter: orNull(FilterRecord, 'Which leads it gets the events of; null: of all.'),
  disabled_reason: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: ['failing', null],
    description: 'Why it was disabled by itself: it had only failed for too long. Null otherwise.',
    examples: [null],
  }),
  headers: Type.Record(Type.String(), Type.Unsafe<null>({ type: ['string', 'null'] }), {
    description: 'The names of its own headers. Their values are not shown.',
    examples: [{ 'X-Api-Key': null }],
  }),
  previous_secret_until: nullableTimestamp(
    'Until then the secret before signs too; null when none does beside the current one.',
  ),
  created_at: timestamp('When it was made.'),
  updated_at: timestamp('When it changed last.'),
})

const recordOfEndpoint = recordOf(EndpointRecord)

/** An endpoint's public record, without its secret. */
export const endpointRecord = (endpoint: Endpoint) => ({
  ...recordOfEndpoint(endpoint),
  events: EVENT_TYPES.filter((kind) => endpoint.events.includes(kind)),
  filter: filterRecord(endpoint.filter),
  headers: Object.fromEntries(endpoint.headerNames.map((name) => [name, null])),
})
