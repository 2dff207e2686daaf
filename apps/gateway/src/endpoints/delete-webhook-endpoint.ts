import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { EndpointRecord, endpointRecord } from './endpoint-schema'

export const deleteWebhookEndpoint = operation({
  route: 'DELETE /manage/webhook-endpoints/:id',
  operationId: 'deleteWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Delete a webhook endpoint',
  description: 'What is pending for it is cancelled.',
  answer: dataOf(EndpointRecord, 'The endpoint as it was.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId() }
    const { endpoint } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    await clients.webhooks.deleteWebhookEndpoint(key, limits)
    return endpointRecord(endpoint!)
  },
})
