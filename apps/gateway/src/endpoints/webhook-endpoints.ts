import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, listOf, named, namedPartial, orNull, timestamp } from '../api/schemas'
import { seesEndpoint } from '../auth/authenticate'
import { ProblemError } from '../http/problem'
import { describe, optional } from '../validation/fields'
import {
  EndpointRecord,
  endpointFields,
  endpointRecord,
  endpointSecret,
  moreFields,
  requestOf,
} from './endpoint-schemas'

export const listWebhookEndpoints = operation({
  route: 'GET /manage/webhook-endpoints',
  summary: 'List webhook endpoints',
  endpointTokens: true,
  answer: listOf(EndpointRecord, "The account's endpoints that the token sees."),
  handler: async ({ accountId, clients, limits, request }) => {
    const { endpoints } = await clients.webhooks.listWebhookEndpoints({ accountId }, limits)
    return endpoints.filter(({ id }) => seesEndpoint(request.principal, id)).map(endpointRecord)
  },
})

const { url, ...otherFields } = endpointFields

const CreateWebhookEndpoint = named('CreateWebhookEndpointRequest', {
  url,
  ...optional({ ...otherFields, ...moreFields, secret: endpointSecret }),
})

const CreatedEndpoint = named('CreatedWebhookEndpoint', {
  ...EndpointRecord.properties,
  secret: Type.String({ description: 'The key that signs, shown only here.', examples: ['whsec_…'] }),
})

export const createWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints',
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

const RecoveryRecord = named('WebhookEndpointRecovery', {
  since: timestamp('Deliveries of events created then or later.'),
  remaining: Type.Integer(describe('How many are still to be attempted; 10,000 at most are counted.', 12)),
  remaining_capped: Type.Boolean({ description: 'Whether there may be more.', examples: [false] }),
})

const RetrievedEndpoint = named('RetrievedWebhookEndpoint', {
  ...EndpointRecord.properties,
  recovery: orNull(RecoveryRecord, 'What is left of what is recovered; null when nothing is.'),
})

const recoveryRecord = recordOf(RecoveryRecord)

export const retrieveWebhookEndpoint = operation({
  route: 'GET /manage/webhook-endpoints/:id',
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
  summary: 'Update a webhook endpoint',
  description:
    'Changes what is given and leaves the rest. When it is enabled, held deliveries are sent. A token of one endpoint changes `url`, `description`, `enabled` and `headers` only.',
  body: namedPartial('UpdateWebhookEndpointRequest', { ...endpointFields, ...moreFields }),
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
