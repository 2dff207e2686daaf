import { Type } from '@sinclair/typebox'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { pathId } from '../http/path-id'
import { managementOperation } from '../operation'
import { AttemptRecord, attemptRecord, DeliveryRecord, deliveryRecord } from './delivery-schema'

const DeliveryWithAttempts = Type.Object(
  {
    ...DeliveryRecord.properties,
    attempts: Type.Array(AttemptRecord),
  },
  { title: 'DeliveryWithAttempts' },
)

/** GET /manage/deliveries/:id: a delivery with every attempt. */
export const retrieveDelivery = managementOperation({
  method: 'GET',
  url: '/manage/deliveries/:id',
  operationId: 'retrieveDelivery',
  tag: 'Webhooks',
  summary: 'Retrieve a delivery',
  description: 'With every attempt that was made.',
  params: IdParams,
  answer: { description: 'The delivery.', schema: dataOf(DeliveryWithAttempts) },
  run: async ({ request, accountId, clients, limits }) => {
    const key = { accountId, deliveryId: pathId(request) }
    const { delivery, attempts } = await clients.webhooks.retrieveDelivery(key, limits)
    return { ...deliveryRecord(delivery!), attempts: attempts.map(attemptRecord) }
  },
})
