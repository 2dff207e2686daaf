import { ENDPOINT_LEADS, type Endpoint, EVENT_TYPES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { recordOf } from '../api/record'
import { named, timestamp } from '../api/schemas'
import { describe, nullable, oneOf, text } from '../validation/fields'

export const endpointFields = {
  url: text(
    'Where webhooks are sent: http or https, without credentials.',
    'https://crm.example.com/webhooks/leads',
    { maxLength: 2048, format: 'web-url' },
  ),
  description: nullable(text('For your own eyes. Null clears it.', 'CRM')),
  enabled: Type.Boolean(describe('While it is false, deliveries are held.', true)),
  events: Type.Array(oneOf(EVENT_TYPES), {
    minItems: 1,
    maxItems: EVENT_TYPES.length,
    uniqueItems: true,
    description: 'What it subscribes to; `lead.created` alone by default.',
    examples: [['lead.created']],
  }),
  leads: oneOf(ENDPOINT_LEADS, 'The leads whose events it gets; `all` by default.', 'live'),
}

/** Header names and values; null keeps a value. */
export const endpointHeaders = Type.Record(
  Type.String(),
  Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 2048 }),
  {
    maxProperties: 10,
    description:
      'Headers that each attempt carries beside its own, such as `Authorization`; encrypted where they are stored. They replace those that are there; null keeps the value that a header has. In JSON only: `{"Authorization": "Bearer …"}`.',
  },
)

export const headersOf = (given: Record<string, string | null> | undefined) =>
  given && { headers: Object.entries(given).map(([name, value]) => ({ name, value: value ?? undefined })) }

export const endpointSecret = text(
  'The key that signs, 16 bytes or more; by default one is made for you.',
  undefined,
  { minLength: 16, format: 'one-line' },
)

export const EndpointRecord = named(
  'WebhookEndpoint',
  'An address that webhooks are sent to.',
)({
  id: Type.Integer({ examples: [1] }),
  url: Type.String({
    format: 'uri',
    description: 'Where webhooks are sent.',
    examples: ['https://crm.example.com/webhooks/leads'],
  }),
  description: endpointFields.description,
  enabled: endpointFields.enabled,
  events: endpointFields.events,
  leads: endpointFields.leads,
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
  created_at: timestamp('When it was made.'),
  updated_at: timestamp('When it changed last.'),
})

const recordOfEndpoint = recordOf(EndpointRecord)

/** An endpoint's public record, without its secret. */
export const endpointRecord = (endpoint: Endpoint) => ({
  ...recordOfEndpoint(endpoint),
  events: EVENT_TYPES.filter((kind) => endpoint.events.includes(kind)),
  headers: Object.fromEntries(endpoint.headerNames.map((name) => [name, null])),
})
