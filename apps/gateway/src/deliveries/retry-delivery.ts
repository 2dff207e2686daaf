import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { DeliveryRecord, deliveryRecord } from './delivery-schema'

/** POST /manage/deliveries/:id/retry. */
export const retryDelivery = managementOperation({
  method: 'POST',
  url: '/manage/deliveries/:id/retry',
  operationId: 'retryDelivery',
  tag: 'Webhooks',
  summary: 'Attempt a delivery again',
  description:
    'One attempt at once, whatever the state of the delivery. It starts no new schedule and moves none. A conflict while an attempt is under way or due, or when the endpoint is disabled or deleted.',
  params: IdParams,
  answer: { description: 'The delivery, on its way.', schema: dataOf(DeliveryRecord) },
  problems: ['conflict', 'lead-erased'],
  run: async ({ request, accountId, clients, limits }) => {
    const key = { accountId, deliveryId: pathId(request) }
    const { delivery } = await clients.webhooks.retryDelivery(key, limits)
    return deliveryRecord(delivery!)
  },
})
