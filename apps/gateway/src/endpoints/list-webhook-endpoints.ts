import { managementOperation } from '../api/operation'
import { listOf } from '../api/schemas'
import { EndpointRecord, endpointRecord } from './endpoint-schema'

/** GET /manage/webhook-endpoints. */
export const listWebhookEndpoints = managementOperation({
  method: 'GET',
  url: '/manage/webhook-endpoints',
  operationId: 'listWebhookEndpoints',
  tag: 'Webhooks',
  summary: 'List webhook endpoints',
  answer: { description: "The account's endpoints.", schema: listOf(EndpointRecord) },
  run: async ({ accountId, clients, limits }) => {
    const { endpoints } = await clients.webhooks.listWebhookEndpoints({ accountId }, limits)
    return endpoints.map(endpointRecord)
  },
})
