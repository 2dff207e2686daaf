import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf, named } from '../api/schemas'
import {
  EndpointRecord,
  endpointFields,
  endpointHeaders,
  endpointRecord,
  endpointSecret,
  headersOf,
} from './endpoint-schema'

const CreateWebhookEndpoint = named('CreateWebhookEndpointRequest')({
  url: endpointFields.url,
  description: Type.Optional(endpointFields.description),
  enabled: Type.Optional(endpointFields.enabled),
  events: Type.Optional(endpointFields.events),
  leads: Type.Optional(endpointFields.leads),
  headers: Type.Optional(endpointHeaders),
  secret: Type.Optional(endpointSecret),
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
    const value = await valid()
    const { endpoint, secret } = await clients.webhooks.createWebhookEndpoint(
      {
        accountId,
        url: value.url,
        description: value.description ?? undefined,
        enabled: value.enabled ?? true,
        secret: value.secret,
        events: value.events && { types: value.events },
        leads: value.leads,
        headers: headersOf(value.headers),
      },
      limits,
    )
    const { created_at, updated_at, ...record } = endpointRecord(endpoint!)
    return { ...record, secret, created_at, updated_at }
  },
})
