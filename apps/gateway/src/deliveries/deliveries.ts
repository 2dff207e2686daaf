import {
  ATTEMPT_ERRORS,
  type Delivery,
  EVENT_TYPES,
  type FindLeadNamesResponse,
  grants,
  ListDeliveriesResponse,
  type WebhookRequest,
} from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { hasEndpoint } from '../api/has-endpoint'
import { pagedListOperation } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import { recordOf } from '../api/record'
import {
  dataOf,
  described,
  leadReferenceSchema,
  named,
  nullableOf,
  nullableTimestamp,
  orNull,
  timestamp,
} from '../api/schemas'
import { seesEndpoint } from '../auth/authenticate'
import { describe, id, instant, nullable, oneOf, partial, text } from '../validation/fields'
import { inMicroseconds } from '../validation/formats'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'exhausted', 'held', 'cancelled'] as const

/** The filters of deliveries and notifications. */
export const DELIVERY_FILTERS = {
  status: oneOf(DELIVERY_STATUSES, 'Only those in this state.', 'pending'),
  lead_reference: text(
    'Only those of this lead: its reference, or the first 4 digits of it or more.',
    '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10',
    { format: 'uuid-start' },
  ),
}

const attemptError = (description: string) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: [...ATTEMPT_ERRORS, null],
    description,
    examples: [null],
  })

/** Of a delivery without the name of its lead. A notification has most of them. */
export const DELIVERY_FIELDS = {
  id: Type.Integer({ examples: [1] }),
  endpoint_id: Type.Integer({ examples: [1] }),
  event_id: Type.String({
    format: 'uuid',
    description: "Also the webhook's `webhook-id`.",
    examples: ['4a2f7d0c-3e6a-4b7e-8d51-1f0f5d6c7b8a'],
  }),
  event: oneOf(EVENT_TYPES, 'What it is about.', 'lead.created'),
  lead_reference: nullable(leadReferenceSchema('Null of an event about a webhook endpoint.')),
  status: oneOf(DELIVERY_STATUSES, undefined, 'delivered'),
  attempt_count: Type.Integer({ examples: [1] }),
  next_attempt_at: nullableTimestamp('Null unless another attempt is to come.'),
  last_status: nullableOf(
    'integer',
    "The status of the last attempt's answer; null when there was none.",
    200,
  ),
  last_error: attemptError('Why the last attempt failed; null when it succeeded, and before the first.'),
  created_at: timestamp('When it was recorded.'),
  updated_at: timestamp('When it changed last.'),
}

export const DeliveryRecord = described('Delivery', 'One event on its way to one endpoint.', {
  ...DELIVERY_FIELDS,
  lead_name: nullableOf(
    'string',
    "The lead's name as it is now. Null when the lead was erased, of a sample, and unless the token has the scope `leads:read` (or `leads`) too.",
    'Kitchen windows',
  ),
})

export const AttemptRecord = named('Attempt', {
  number: Type.Integer({ examples: [1] }),
  started_at: timestamp('When it began.'),
  duration_ms: Type.Integer({ description: 'In milliseconds.', examples: [84] }),
  status: nullableOf('integer', "The answer's status, HTTP's or SMTP's; null when there was no answer.", 200),
  error: attemptError('Why the attempt failed; null on success.'),
  reason: nullableOf(
    'string',
    'The same in a sentence, of a redirect, of `tls` and of what a proxy of the operator prevents; null otherwise.',
    '302: redirects are not followed.',
  ),
  response: nullableOf('string', 'The first 4 KiB of the answer: of HTTP its body, of SMTP all of it.', 'ok'),
})

const recordOfDelivery = recordOf(Type.Object(DELIVERY_FIELDS))

export const deliveryRecord = (delivery: Delivery) => ({
  ...recordOfDelivery(delivery),
  lead_reference: delivery.leadReference || null,
})

export const attemptRecord = recordOf(AttemptRecord)

/** A leads-service of the release before has no such call: the list comes without names while it is replaced. */
const unlessUnavailable = (error: unknown): FindLeadNamesResponse => {
  if (error instanceof ServiceError && error.code === 'unavailable') return { leads: [] }
  throw error
}

/** Deliveries with the names of their leads, which one call finds for all. */
const withLeadNames = async (
  { request, accountId, clients, limits }: Call<unknown>,
  deliveries: Delivery[],
) => {
  const references = [...new Set(deliveries.flatMap(({ leadReference }) => leadReference || []))]
  const { leads } =
    references.length > 0 && grants(request.principal.scopes, ['leads:read'])
      ? await clients.leads.findLeadNames({ accountId, references }, limits).catch(unlessUnavailable)
      : { leads: [] }
  const names = new Map(leads.map(({ reference, name }) => [reference, name]))
  return deliveries.map((delivery) => ({
    ...deliveryRecord(delivery),
    lead_name: names.get(delivery.leadReference) ?? null,
  }))
}

/** One delivery with the name of its lead. */
export const deliveryWithName = async (call: Call<unknown>, delivery: Delivery | undefined) =>
  (await withLeadNames(call, [delivery!]))[0]!

export const listDeliveries = pagedListOperation({
  route: 'GET /manage/deliveries',
  summary: 'List deliveries',
  endpointTokens: true,
  description:
    'A token of one endpoint gets those to this endpoint, whatever `endpoint_id` says. With `type`, `error` or `failed`, and with few digits of a reference, an answer reads 10,000 deliveries at most of each state: it may have fewer than asked for and a `next_cursor` all the same, and `total` counts among these.',
  what: 'deliveries',
  filters: partial({
    endpoint_id: id('Only those to this endpoint.', 1),
    ...DELIVERY_FILTERS,
    from: instant('Only those recorded at this instant or later.'),
    to: instant('Only those recorded before this instant.'),
    type: oneOf(EVENT_TYPES, 'Only those about this.', 'lead.created'),
    error: oneOf(ATTEMPT_ERRORS, 'Only those whose last attempt failed so.', 'timeout'),
    failed: Type.Boolean(describe('Only those whose last attempt failed, or only the others.')),
  }),
  record: DeliveryRecord,
  find: async (call, { endpoint_id, lead_reference, from, to, ...given }) => {
    const { accountId, clients, limits, request } = call
    const leadReference = lead_reference?.toLowerCase()
    const times = { from: from && inMicroseconds(from), to: to && inMicroseconds(to) }
    const { endpointId = endpoint_id } = request.principal
    const isAnother = endpoint_id !== undefined && endpoint_id !== endpointId
    if (isAnother || !(await hasEndpoint(call)))
      return { ...ListDeliveriesResponse.fromPartial({}), records: [] }
    const asked = { accountId, endpointId, leadReference, ...times, ...given }
    const { deliveries, ...rest } = await clients.webhooks.listDeliveries(asked, limits)
    return { ...rest, records: await withLeadNames(call, deliveries) }
  },
})

const RequestRecord = named('WebhookRequest', {
  headers: Type.Record(Type.String(), Type.Unsafe<string | null>({ type: ['string', 'null'] }), {
    description:
      "By their names. Null stands for a value that is made for each attempt, such as a signature, and for those of the endpoint's own headers, which are secrets.",
    examples: [{ 'Content-Type': 'application/json', 'X-SERVICE-Signature': null }],
  }),
  body: Type.String(describe('As every attempt sends it, byte for byte.', '{"data":{"id":1}}')),
})

const DeliveryWithAttempts = named('DeliveryWithAttempts', {
  ...DeliveryRecord.properties,
  attempts: Type.Array(AttemptRecord),
  request: orNull(RequestRecord, 'What each attempt sends; null when the lead was erased.'),
})

const requestRecord = ({ headers, body }: WebhookRequest) => ({
  headers: Object.fromEntries(headers.map(({ name, value }) => [name, value ?? null])),
  body: new TextDecoder().decode(body),
})

/** The delivery of the address. A token of one endpoint finds none to another. */
const findDelivery = async (call: Call<unknown>) => {
  const { pathId, request, accountId, clients, limits } = call
  const key = { accountId, deliveryId: pathId() }
  const found = await clients.webhooks.retrieveDelivery(key, limits)
  if (!seesEndpoint(request.principal, found.delivery!.endpointId) || !(await hasEndpoint(call)))
    throw new ServiceError('not_found', 'There is no such delivery.')
  return found
}

export const retrieveDelivery = operation({
  route: 'GET /manage/deliveries/:id',
  summary: 'Retrieve a delivery',
  endpointTokens: true,
  description: 'With every attempt that was made, and what each sends.',
  answer: dataOf(DeliveryWithAttempts, 'The delivery.'),
  handler: async (call) => {
    const { delivery, attempts, request: sent } = await findDelivery(call)
    return {
      ...(await deliveryWithName(call, delivery)),
      attempts: attempts.map(attemptRecord),
      request: sent ? requestRecord(sent) : null,
    }
  },
})

export const retryDelivery = operation({
  route: 'POST /manage/deliveries/:id/retry',
  summary: 'Attempt a delivery again',
  endpointTokens: true,
  description:
    'One attempt at once, whatever the state of the delivery. It starts no new schedule and moves none. A conflict while an attempt is in flight or due, or when the endpoint is disabled or deleted.',
  savesResponse: true,
  answer: dataOf(DeliveryRecord, 'The delivery, on its way.'),
  problems: ['conflict', 'lead-erased'],
  handler: async (call) => {
    const { pathId, accountId, clients, limits, request } = call
    if (request.principal.endpointId !== undefined) await findDelivery(call)
    const key = { accountId, deliveryId: pathId() }
    const { delivery } = await clients.webhooks.retryDelivery(key, limits)
    return deliveryWithName(call, delivery)
  },
})
