import {
  type Endpoint,
  EVENT_TYPES,
  filterRecord,
  LEAD_STATUSES,
  VISITOR_REFERRERS,
} from '@leadwire/contracts'
import { endpointFields, enumeration } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { createRecordRenderer } from '../api/render-record'
import { described, named, nullableTimestamp, orNull, timestamp } from '../api/schemas'

const { url: _, ...otherFields } = endpointFields

const FilterRecord = named('WebhookEndpointFilter', {
  status: Type.Optional(Type.Array(enumeration(LEAD_STATUSES))),
  referrer: Type.Optional(Type.Array(enumeration(VISITOR_REFERRERS))),
  postcode: Type.Optional(Type.Array(Type.String())),
  user_email: Type.Optional(Type.Array(Type.String())),
})

export const EndpointRecord = described('WebhookEndpoint', 'A webhook endpoint.', {
  id: Type.Integer({ examples: [1] }),
  url: Type.String({
    format: 'uri',
    description: 'URL that webhooks are sent to.',
    examples: ['https://crm.example.com/webhooks/leads'],
  }),
  ...otherFields,
  filter: orNull(
    FilterRecord,
    'Selects the leads whose events the endpoint receives. null if no filter is set.',
  ),
  disabled_reason: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: ['failing', null],
    description:
      'The reason that the service disabled the endpoint: `failing` if all attempts had failed for too long. null otherwise.',
    examples: [null],
  }),
  headers: Type.Record(Type.String(), Type.Unsafe<null>({ type: ['string', 'null'] }), {
    description: 'Names of the custom headers. The values are secret and always null.',
    examples: [{ 'X-Api-Key': null }],
  }),
  previous_secret_until: nullableTimestamp(
    'When the previous secret stops signing. null if only the current secret signs.',
  ),
  created_at: timestamp('When the endpoint was created.'),
  updated_at: timestamp('When the endpoint was last updated.'),
})

const renderEndpointFields = createRecordRenderer(EndpointRecord)

/** Returns an endpoint's public record, without its secret. */
export const renderEndpoint = (endpoint: Endpoint) => ({
  ...renderEndpointFields(endpoint),
  events: EVENT_TYPES.filter((kind) => endpoint.events.includes(kind)),
  filter: filterRecord(endpoint.filter),
  headers: Object.fromEntries(endpoint.headerNames.map((name) => [name, null])),
})
