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
import { type Call, operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, listOf, named, nullableTimestamp, orNull, timestamp } from '../api/schemas'
import { seesEndpoint } from '../auth/authenticate'
import { ProblemError } from '../http/problem'
import { describe, nullable, oneOf, text } from '../validation/fields'

const endpointFields = {
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
  include: Type.Array(oneOf(ENDPOINT_INCLUDES), {
    maxItems: ENDPOINT_INCLUDES.length,
    uniqueItems: true,
    description:
      'Optional parts of its webhook bodies. `attributes` adds the attributes of the lead, if it has any. Empty by default.',
    examples: [['attributes']],
  }),
}

const { url, ...otherFields } = endpointFields

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
  Type.Partial(Type.Object(filterValues), {
    description:
      'The endpoint gets the events of leads that have one of the values of each list. It replaces the filter that is there; null or `{}` removes it. In JSON only.',
  }),
)

/** Fields that an endpoint shows in another form. */
const moreFields = { filter: endpointFilter, headers: endpointHeaders }

const FilterRecord = named('WebhookEndpointFilter')({
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
const requestOf = <Fields extends Given>({ events, filter, include, headers, ...fields }: Fields) => ({
  ...fields,
  events: events && { types: events },
  filter: filter === undefined ? undefined : { ...filter, userEmail: filter?.user_email ?? [] },
  include: include && { parts: include },
  headers: headers && {
    headers: Object.entries(headers).map(([name, value]) => ({ name, value: value ?? undefined })),
  },
})

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

export const listWebhookEndpoints = operation({
  route: 'GET /manage/webhook-endpoints',
  operationId: 'listWebhookEndpoints',
  tag: 'Webhooks',
  summary: 'List webhook endpoints',
  endpointTokens: true,
  answer: listOf(EndpointRecord, "The account's endpoints that the token sees."),
  handler: async ({ accountId, clients, limits, request }) => {
    const { endpoints } = await clients.webhooks.listWebhookEndpoints({ accountId }, limits)
    return endpoints.filter(({ id }) => seesEndpoint(request.principal, id)).map(endpointRecord)
  },
})

const CreateWebhookEndpoint = named('CreateWebhookEndpointRequest')({
  url,
  ...Type.Partial(Type.Object({ ...otherFields, ...moreFields, secret: endpointSecret })).properties,
})

const CreatedEndpoint = named('CreatedWebhookEndpoint')({
  ...EndpointRecord.properties,
  secret: Type.String({ description: 'The key that signs, shown only here.', examples: ['whsec_…'] }),
})

export const createWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints',
  operationId: 'createWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Create a webhook endpoint',
  body: CreateWebhookEndpoint,
  savesResponse: true,
  answer: dataOf(CreatedEndpoint, 'The new endpoint with its secret.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const { enabled = true, description: text, ...value } = await valid()
    const asked = { accountId, enabled, description: text ?? undefined, ...requestOf(value) }
    const { endpoint, secret } = await clients.webhooks.createWebhookEndpoint(asked, limits)
    const { created_at, updated_at, ...record } = endpointRecord(endpoint!)
    return { ...record, secret, created_at, updated_at }
  },
})

const RecoveryRecord = named('WebhookEndpointRecovery')({
  since: timestamp('Deliveries of events created then or later.'),
  remaining: Type.Integer(describe('How many are still to be attempted; 10,000 at most are counted.', 12)),
  remaining_capped: Type.Boolean({ description: 'Whether there may be more.', examples: [false] }),
})

const RetrievedEndpoint = named('RetrievedWebhookEndpoint')({
  ...EndpointRecord.properties,
  recovery: orNull(RecoveryRecord, 'What is left of what is recovered; null when nothing is.'),
})

const recoveryRecord = recordOf(RecoveryRecord)

export const retrieveWebhookEndpoint = operation({
  route: 'GET /manage/webhook-endpoints/:id',
  operationId: 'retrieveWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Retrieve a webhook endpoint',
  answer: dataOf(RetrievedEndpoint, 'The endpoint, without its secret.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId() }
    const { endpoint, recovery } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    return { ...endpointRecord(endpoint!), recovery: recovery ? recoveryRecord(recovery) : null }
  },
})

/** The endpoint that a request names, and the fields of its body. */
export const readEndpointChange = async <Fields>(call: Call<Fields>) => {
  const { pathId, accountId, clients, limits, valid } = call
  const key = { accountId, endpointId: pathId() }
  const value = await valid(() => clients.webhooks.retrieveWebhookEndpoint(key, limits).then(() => ({})))
  return { key, value }
}

/** Not what the endpoint is sent: whom a token of one endpoint was given to must not get more leads by it. */
const ENDPOINT_TOKEN_FIELDS = ['url', 'description', 'enabled', 'headers']

export const updateWebhookEndpoint = operation({
  route: 'PATCH /manage/webhook-endpoints/:id',
  operationId: 'updateWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Update a webhook endpoint',
  description:
    'Changes what is given and leaves the rest. When it is enabled, held deliveries are sent. A token of one endpoint changes `url`, `description`, `enabled` and `headers` only.',
  body: Type.Partial(Type.Object({ ...endpointFields, ...moreFields }), {
    title: 'UpdateWebhookEndpointRequest',
  }),
  answer: dataOf(EndpointRecord, 'The endpoint as it is now.'),
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const { endpointId } = call.request.principal
    const field = Object.keys(value).find((name) => !ENDPOINT_TOKEN_FIELDS.includes(name))
    if (endpointId !== undefined && field)
      throw new ProblemError('forbidden', `A token of one webhook endpoint can not change the ${field}.`)
    const { description: text, ...given } = value
    const asked = { ...key, description: text === null ? '' : text, ...requestOf(given) }
    const { endpoint } = await call.clients.webhooks.updateWebhookEndpoint(asked, call.limits)
    return endpointRecord(endpoint!)
  },
})

export const deleteWebhookEndpoint = operation({
  route: 'DELETE /manage/webhook-endpoints/:id',
  operationId: 'deleteWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Delete a webhook endpoint',
  description: 'What is pending for it is cancelled. A token of one endpoint can disable it instead.',
  endpointTokens: false,
  answer: dataOf(EndpointRecord, 'The endpoint as it was.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId() }
    const { endpoint } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    await clients.webhooks.deleteWebhookEndpoint(key, limits)
    return endpointRecord(endpoint!)
  },
})
