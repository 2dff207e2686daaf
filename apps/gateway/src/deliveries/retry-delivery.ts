import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { DeliveryRecord, deliveryRecord } from './delivery-schema'

export const retryDelivery = operation({
  route: 'POST /manage/deliveries/:id/retry',
  operationId: 'retryDelivery',
  tag: 'Webhooks',
  summary: 'Attempt a delivery again',
  description:
    'One attempt at once, whatever the state of the delivery. It starts no new schedule and moves none. A conflict while an attempt is in flight or due, or when the endpoint is disabled or deleted.',
  savesResponse: true,
  answer: dataOf(DeliveryRecord, 'The delivery, on its way.'),
  problems: ['conflict', 'lead-erased'],
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, deliveryId: pathId() }
    const { delivery } = await clients.webhooks.retryDelivery(key, limits)
    return deliveryRecord(delivery!)
  },
})
