import {
  buildEndpointRequest,
  CreateWebhookEndpoint,
  describe,
  UpdateWebhookEndpoint,
} from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { listResponse, named, orNull, recordResponse, timestamp } from '../api/schemas'
import { seesEndpoint } from '../auth/authenticate'
import { ProblemError } from '../http/problem'
import { EndpointRecord, renderEndpoint } from './endpoint-schemas'

export const listWebhookEndpoints = operation({
  route: 'GET /manage/webhook-endpoints',
  summary: 'List webhook endpoints',
  endpointTokens: true,
  answer: listResponse(EndpointRecord, 'The endpoints that the token can see.'),
  handler: async ({ accountId, clients, limits, request }) => {
    const { endpoints } = await clients.webhooks.listWebhookEndpoints({ accountId }, limits)
    return endpoints.filter(({ id }) => seesEndpoint(request.principal, id)).map(renderEndpoint)
  },
})

const CreatedEndpoint = named('CreatedWebhookEndpoint', {
  ...EndpointRecord.properties,
  secret: Type.String({
    description: 'The signing key, shown only in this response.',
    examples: ['whsec_…'],
  }),
})

export const createWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints',
  summary: 'Create a webhook endpoint',
  body: CreateWebhookEndpoint,
  savesResponse: true,
  answer: recordResponse(CreatedEndpoint, 'The new endpoint with its secret.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const { enabled = true, description: text, ...value } = await valid()
    const asked = { accountId, enabled, description: text ?? undefined, ...buildEndpointRequest(value) }
    const { endpoint, secret } = await clients.webhooks.createWebhookEndpoint(asked, limits)
    const { created_at, updated_at, ...record } = renderEndpoint(endpoint!)
    return { ...record, secret, created_at, updated_at }
  },
})

const RecoveryRecord = named('WebhookEndpointRecovery', {
  since: timestamp('The recovery covers deliveries of events that were created at or after this time.'),
  remaining: Type.Integer(
    describe('Number of deliveries that still wait for their attempt. Counting stops at 10,000.', 12),
  ),
  remaining_capped: Type.Boolean({
    description: 'Whether more than `remaining` deliveries may wait for their attempt.',
    examples: [false],
  }),
})

const RetrievedEndpoint = named('RetrievedWebhookEndpoint', {
  ...EndpointRecord.properties,
  recovery: orNull(
    RecoveryRecord,
    'The progress of the recovery that is running (POST …/recover). null if no recovery is running.',
  ),
})

const renderRecovery = createRecordRenderer(RecoveryRecord)

export const retrieveWebhookEndpoint = operation({
  route: 'GET /manage/webhook-endpoints/:id',
  summary: 'Retrieve a webhook endpoint',
  answer: recordResponse(RetrievedEndpoint, 'The endpoint, without its secret.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId() }
    const { endpoint, recovery } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    return { ...renderEndpoint(endpoint!), recovery: recovery ? renderRecovery(recovery) : null }
  },
})

/**
 * Reads the endpoint's id from the path, and the fields of the body. Throws `not_found` for a malformed id,
 * and `invalid` for invalid fields. If the fields are invalid and the endpoint is unknown, throws
 * `not_found`.
 */
export const readEndpointChange = async <Fields>(call: Call<Fields>) => {
  const { pathId, accountId, clients, limits, valid } = call
  const key = { accountId, endpointId: pathId() }
  const value = await valid(() => clients.webhooks.retrieveWebhookEndpoint(key, limits))
  return { key, value }
}

/**
 * The fields of an endpoint that a token restricted to this endpoint may change. The fields that select
 * events are missing here, because the holder of such a token must not be able to get more leads.
 */
const ENDPOINT_TOKEN_FIELDS = ['url', 'description', 'enabled', 'headers']

export const updateWebhookEndpoint = operation({
  route: 'PATCH /manage/webhook-endpoints/:id',
  summary: 'Update a webhook endpoint',
  description:
    'Updates the fields in the request. Omitted fields keep their values. Enabling the endpoint also sends the deliveries that were held. A token that is restricted to one endpoint can change only `url`, `description`, `enabled` and `headers`.',
  body: UpdateWebhookEndpoint,
  answer: recordResponse(EndpointRecord, 'The updated endpoint.'),
  handler: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const { endpointId } = call.request.principal
    const field = Object.keys(value).find((name) => !ENDPOINT_TOKEN_FIELDS.includes(name))
    if (endpointId !== undefined && field)
      throw new ProblemError(
        'forbidden',
        `A token that is restricted to one webhook endpoint cannot change ${field}.`,
      )
    const { description: text, ...given } = value
    const asked = { ...key, description: text === null ? '' : text, ...buildEndpointRequest(given) }
    const { endpoint } = await call.clients.webhooks.updateWebhookEndpoint(asked, call.limits)
    return renderEndpoint(endpoint!)
  },
})

export const deleteWebhookEndpoint = operation({
  route: 'DELETE /manage/webhook-endpoints/:id',
  summary: 'Delete a webhook endpoint',
  description:
    'Deletes a webhook endpoint and cancels its pending deliveries. A token that is restricted to one endpoint cannot delete the endpoint, but can disable it.',
  endpointTokens: false,
  answer: recordResponse(EndpointRecord, 'The deleted endpoint.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId() }
    const { endpoint } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    await clients.webhooks.deleteWebhookEndpoint(key, limits)
    return renderEndpoint(endpoint!)
  },
})
