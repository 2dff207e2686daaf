import { ATTEMPT_ERRORS, EVENT_TYPES, type WebhookRequest } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { pagedListOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import {
  dataOf,
  leadReferenceSchema,
  named,
  nullableOf,
  nullableTimestamp,
  orNull,
  timestamp,
} from '../api/schemas'
import { describe, id, oneOf, text } from '../validation/fields'

const DELIVERY_STATUSES = ['pending', 'delivered', 'exhausted', 'held', 'cancelled'] as const

/** The filters of deliveries and notifications. */
export const DELIVERY_FILTERS = {
  status: oneOf(DELIVERY_STATUSES, 'Only those in this state.', 'pending'),
  lead_reference: text('Only those of this lead.', '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10', {
    format: 'uuid',
  }),
}

export const DeliveryRecord = named(
  'Delivery',
  'One event on its way to one endpoint.',
)({
  id: Type.Integer({ examples: [1] }),
  endpoint_id: Type.Integer({ examples: [1] }),
  event_id: Type.String({
    format: 'uuid',
    description: "Also the webhook's `webhook-id`.",
    examples: ['4a2f7d0c-3e6a-4b7e-8d51-1f0f5d6c7b8a'],
  }),
  event: oneOf(EVENT_TYPES, 'What it is about.', 'lead.created'),
  lead_reference: leadReferenceSchema(),
  status: oneOf(DELIVERY_STATUSES, undefined, 'delivered'),
  attempt_count: Type.Integer({ examples: [1] }),
  next_attempt_at: nullableTimestamp('Null unless another attempt is to come.'),
  created_at: timestamp('When it was recorded.'),
  updated_at: timestamp('When it changed last.'),
})

export const AttemptRecord = named('Attempt')({
  number: Type.Integer({ examples: [1] }),
  started_at: timestamp('When it began.'),
  duration_ms: Type.Integer({ description: 'In milliseconds.', examples: [84] }),
  status: nullableOf('integer', "The answer's status, HTTP's or SMTP's; null when there was no answer.", 200),
  error: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: [...ATTEMPT_ERRORS, null],
    description: 'Why the attempt failed; null on success.',
    examples: [null],
  }),
  response: nullableOf('string', 'The first 4 KiB of the answer: of HTTP its body, of SMTP all of it.', 'ok'),
})

export const deliveryRecord = recordOf(DeliveryRecord)

export const attemptRecord = recordOf(AttemptRecord)

export const listDeliveries = pagedListOperation({
  route: 'GET /manage/deliveries',
  operationId: 'listDeliveries',
  tag: 'Webhooks',
  summary: 'List deliveries',
  what: 'deliveries',
  filters: Type.Partial(
    Type.Object({ endpoint_id: id('Only those to this endpoint.', 1), ...DELIVERY_FILTERS }),
  ),
  record: DeliveryRecord,
  find: async ({ accountId, clients, limits }, { endpoint_id: endpointId, lead_reference, ...given }) => {
    const asked = { accountId, endpointId, leadReference: lead_reference?.toLowerCase(), ...given }
    const { deliveries, ...rest } = await clients.webhooks.listDeliveries(asked, limits)
    return { ...rest, records: deliveries.map(deliveryRecord) }
  },
})

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
    const key = { accountId, endpointId: pathId() }
    const { account } = await clients.accounts.retrieveAccount({ accountId }, limits)
    const asked = { ...key, accountKey: account!.apiKey }
    const { delivery } = await clients.webhooks.testWebhookEndpoint(asked, limits)
    return deliveryRecord(delivery!)
  },
})
