import { operation } from '../api/operation'
import { listOf } from '../api/schemas'
import { EndpointRecord, endpointRecord } from './endpoint-schema'

export const listWebhookEndpoints = operation({
  route: 'GET /manage/webhook-endpoints',
  operationId: 'listWebhookEndpoints',
  tag: 'Webhooks',
  summary: 'List webhook endpoints',
  answer: listOf(EndpointRecord, "The account's endpoints."),
  handler: async ({ accountId, clients, limits }) => {
    const { endpoints } = await clients.webhooks.listWebhookEndpoints({ accountId }, limits)
    return endpoints.map(endpointRecord)
  },
})
