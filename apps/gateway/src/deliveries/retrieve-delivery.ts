import type { WebhookRequest } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf, named, orNull } from '../api/schemas'
import { describe } from '../validation/fields'
import { AttemptRecord, attemptRecord, DeliveryRecord, deliveryRecord } from './delivery-schema'

const RequestRecord = named('WebhookRequest')({
  headers: Type.Record(Type.String(), Type.Unsafe<string | null>({ type: ['string', 'null'] }), {
    description:
      "By their names. Null stands for a value that is made for each attempt, such as a signature, and for those of the endpoint's own headers, which are secrets.",
    examples: [{ 'Content-Type': 'application/json', 'X-SERVICE-Signature': null }],
  }),
  body: Type.String(describe('As every attempt sends it, byte for byte.', '{"data":{"id":1}}')),
})

const DeliveryWithAttempts = named('DeliveryWithAttempts')({
  ...DeliveryRecord.properties,
  attempts: Type.Array(AttemptRecord),
  request: orNull(RequestRecord, 'What each attempt sends; null when the lead was erased.'),
})

const requestRecord = ({ headers, body }: WebhookRequest) => ({
  headers: Object.fromEntries(headers.map(({ name, value }) => [name, value ?? null])),
  body: new TextDecoder().decode(body),
})

export const retrieveDelivery = operation({
  route: 'GET /manage/deliveries/:id',
  operationId: 'retrieveDelivery',
  tag: 'Webhooks',
  summary: 'Retrieve a delivery',
  description: 'With every attempt that was made, and what each sends.',
  answer: dataOf(DeliveryWithAttempts, 'The delivery.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, deliveryId: pathId() }
    const { delivery, attempts, request: sent } = await clients.webhooks.retrieveDelivery(key, limits)
    return {
      ...deliveryRecord(delivery!),
      attempts: attempts.map(attemptRecord),
      request: sent ? requestRecord(sent) : null,
    }
  },
})
