import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { DeliveryRecord, deliveryRecord } from './delivery-schema'

export const testWebhookEndpoint = operation({
  route: 'POST /manage/webhook-endpoints/:id/test',
  operationId: 'testWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Send a sample to a webhook endpoint',
  description:
    'A Lead Created with a sample lead (`test` is 1, ids are 0), or, for an endpoint that does not subscribe to it, a sample of the first kind of event that it subscribes to. It goes to this endpoint alone, signed, recorded and retried like any other. While the endpoint is disabled it is held.',
  savesResponse: true,
  answer: dataOf(DeliveryRecord, 'The delivery, on its way.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const endpointId = pathId()
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    const accountKey = account!.apiKey
    const { delivery } = await clients.webhooks.testWebhookEndpoint(
      { accountId, endpointId, accountKey },
      limits,
    )
    return deliveryRecord(delivery!)
  },
})
