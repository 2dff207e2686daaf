import { dataOf, IdParams } from '../docs/shared-schemas'
import { pathId } from '../http/path-id'
import { managementOperation } from '../operation'
import { EndpointRecord, endpointRecord } from './endpoint-schema'

/** GET /manage/webhook-endpoints/:id. */
export const retrieveWebhookEndpoint = managementOperation({
  method: 'GET',
  url: '/manage/webhook-endpoints/:id',
  operationId: 'retrieveWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Retrieve a webhook endpoint',
  params: IdParams,
  answer: {
    description: 'The endpoint, without its secret.',
    schema: dataOf(EndpointRecord),
  },
  run: async ({ request, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId(request) }
    const { endpoint } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    return endpointRecord(endpoint!)
  },
})
