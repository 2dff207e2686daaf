import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { EndpointRecord, endpointRecord } from './endpoint-schema'

/** DELETE /manage/webhook-endpoints/:id. */
export const deleteWebhookEndpoint = managementOperation({
  method: 'DELETE',
  url: '/manage/webhook-endpoints/:id',
  operationId: 'deleteWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Delete a webhook endpoint',
  description: 'What is pending for it is cancelled.',
  params: IdParams,
  answer: { description: 'The endpoint as it was.', schema: dataOf(EndpointRecord) },
  run: async ({ request, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId(request) }
    const { endpoint } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    await clients.webhooks.deleteWebhookEndpoint(key, limits)
    return endpointRecord(endpoint!)
  },
})
