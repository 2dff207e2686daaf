import {
  ENDPOINT_INCLUDES,
  ENDPOINT_LEADS,
  EVENT_TYPES,
  LEAD_STATUSES,
  MAX_FILTER_VALUES,
  VISITOR_REFERRERS,
} from '@leadwire/contracts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { describe, enumeration, namedWord, nullable, optional, partial, text } from '../validation/fields'

// These enumerations have names, because openapi-generator's Java client (library `native`) does not
// compile if the values of a `uniqueItems` array have no name.
const EventType = namedWord('EventType', EVENT_TYPES)
const WebhookInclude = namedWord('WebhookInclude', ENDPOINT_INCLUDES)

export const eventTypes = (description: string) =>
  Type.Array(EventType, {
    minItems: 1,
    maxItems: EVENT_TYPES.length,
    uniqueItems: true,
    ...describe(description, ['lead.created']),
  })

/** The fields of an endpoint that a response shows as they were given. */
export const endpointFields = {
  url: text(
    'URL that webhooks are sent to: http or https, without credentials.',
    'https://crm.example.com/webhooks/leads',
    { maxLength: 2048, format: 'web-url' },
  ),
  description: nullable(text('Description for your own use. null clears the field.', 'CRM')),
  enabled: Type.Boolean(describe('Whether webhooks are sent. While false, deliveries are held.', true)),
  events: eventTypes('Event types that the endpoint subscribes to. Default: only `lead.created`.'),
  leads: enumeration(ENDPOINT_LEADS, 'Leads whose events the endpoint receives. Default `all`.', 'live'),
  include: Type.Array(WebhookInclude, {
    maxItems: ENDPOINT_INCLUDES.length,
    uniqueItems: true,
    description:
      'Optional parts of the webhook bodies. `attributes` adds the attributes of the lead. Default: no optional parts.',
    examples: [['attributes']],
  }),
}

/** Header names and values. null keeps the stored value. */
const endpointHeaders = Type.Unsafe<Record<string, string | null>>({
  type: 'object',
  additionalProperties: { type: ['string', 'null'], maxLength: 2048, format: 'header-value' },
  propertyNames: { type: 'string', maxLength: 100, format: 'header-name' },
  maxProperties: 10,
  description:
    'Additional headers of each attempt, such as `Authorization`. The values are stored encrypted. The object replaces all stored headers. A header with the value null keeps its stored value. JSON bodies only: `{"Authorization": "Bearer …"}`.',
})

const filterList = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Array(schema, { minItems: 1, maxItems: MAX_FILTER_VALUES, description })

const filterValues = {
  status: filterList(
    enumeration(LEAD_STATUSES),
    'Only events of leads that have one of these statuses after the change.',
  ),
  referrer: filterList(enumeration(VISITOR_REFERRERS), 'Only events of leads with one of these referrers.'),
  postcode: filterList(
    text(undefined, undefined, { maxLength: 10, format: 'postcode-start' }),
    'Only events of leads whose postcode starts with one of these texts: `M1` also matches `M12 4AB`. Case and spaces do not matter.',
  ),
  user_email: filterList(
    text(undefined, undefined, { format: 'email' }),
    'Only events of leads that are assigned to a user with one of these email addresses. Case does not matter.',
  ),
}

const endpointFilter = nullable(
  partial(filterValues, {
    additionalProperties: false,
    description:
      'Limits the endpoint to events of leads that match at least one value in each list. Replaces the stored filter. null or `{}` removes the filter. An unknown key is a 422. JSON bodies only.',
  }),
)

const { url, ...otherFields } = endpointFields

const settableFields = { ...otherFields, filter: endpointFilter, headers: endpointHeaders }

export const endpointSecret = text(
  'Signing key, at least 16 characters. Default: a generated key.',
  undefined,
  { minLength: 16, format: 'one-line' },
)

export const CreateWebhookEndpoint = Type.Object(
  { url, ...optional({ ...settableFields, secret: endpointSecret }) },
  { title: 'CreateWebhookEndpointRequest' },
)

export const UpdateWebhookEndpoint = partial(
  { url, ...settableFields },
  { title: 'UpdateWebhookEndpointRequest' },
)

interface EndpointFields {
  events?: string[]
  filter?: Static<typeof endpointFilter>
  include?: string[]
  headers?: Record<string, string | null>
}

/** Builds the fields of an endpoint in the form of webhook-service's requests. */
export const buildEndpointRequest = <Fields extends EndpointFields>({
  events,
  filter,
  include,
  headers,
  ...fields
}: Fields) => ({
  ...fields,
  events: events && { types: events },
  filter: filter === undefined ? undefined : { ...filter, userEmail: filter?.user_email ?? [] },
  include: include && { parts: include },
  headers: headers && {
    headers: Object.entries(headers).map(([name, value]) => ({ name, value: value ?? undefined })),
  },
})
