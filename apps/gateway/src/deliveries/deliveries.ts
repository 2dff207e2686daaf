import {
  ATTEMPT_ERRORS,
  type Delivery,
  EVENT_TYPES,
  type FindLeadNamesResponse,
  grants,
  type WebhookRequest,
} from '@leadwire/contracts'
import {
  DELIVERY_STATUSES,
  DeliveryFilters,
  describe,
  enumeration,
  nullable,
  truncateInstant,
} from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { hasEndpoint } from '../api/has-endpoint'
import { pagedListOperation } from '../api/list-operation'
import { type Call, operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import {
  described,
  leadReferenceSchema,
  named,
  nullableScalar,
  nullableTimestamp,
  orNull,
  recordResponse,
  timestamp,
} from '../api/schemas'
import { seesEndpoint } from '../auth/authenticate'

const attemptError = (description: string) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: [...ATTEMPT_ERRORS, null],
    description,
    examples: [null],
  })

/** The fields of a delivery, except the name of its lead. A notification has most of these fields, too. */
export const DELIVERY_FIELDS = {
  id: Type.Integer({ examples: [1] }),
  endpoint_id: Type.Integer({ examples: [1] }),
  event_id: Type.String({
    format: 'uuid',
    description: 'The ID of the event, which webhooks carry as `webhook-id`.',
    examples: ['4a2f7d0c-3e6a-4b7e-8d51-1f0f5d6c7b8a'],
  }),
  event: enumeration(EVENT_TYPES, 'The type of the event.', 'lead.created'),
  lead_reference: nullable(
    leadReferenceSchema('The reference of the lead. null if the event is about a webhook endpoint.'),
  ),
  status: enumeration(DELIVERY_STATUSES, undefined, 'delivered'),
  attempt_count: Type.Integer({ examples: [1] }),
  next_attempt_at: nullableTimestamp('When the next attempt is due. null if no attempt is planned.'),
  last_status: nullableScalar(
    'integer',
    'The response status of the last attempt. null if there was no response.',
    200,
  ),
  last_error: attemptError(
    'The error of the last attempt. null after a success and before the first attempt.',
  ),
  created_at: timestamp('When the delivery was created.'),
  updated_at: timestamp('When the delivery was last updated.'),
}

export const DeliveryRecord = described('Delivery', 'The delivery of one event to one endpoint.', {
  ...DELIVERY_FIELDS,
  lead_name: nullableScalar(
    'string',
    'The current name of the lead. null if the lead was erased, if the event is a test or about a webhook endpoint, if the token lacks the scope `leads:read` (or `leads`), and while names are unavailable.',
    'Kitchen windows',
  ),
})

export const AttemptRecord = named('Attempt', {
  number: Type.Integer({ examples: [1] }),
  started_at: timestamp('When the attempt started.'),
  duration_ms: Type.Integer({ description: 'Duration in milliseconds.', examples: [84] }),
  status: nullableScalar(
    'integer',
    'The status of the HTTP or SMTP response. null if there was no response.',
    200,
  ),
  error: attemptError('The error of the attempt. null after a success.'),
  reason: nullableScalar(
    'string',
    'A sentence that explains the error if the receiver sent a redirect, if the error is `tls`, or if a proxy of the operator blocked the request. Otherwise null.',
    '302: redirects are not followed.',
  ),
  response: nullableScalar(
    'string',
    'The first 4 KiB of the HTTP response body, or of the SMTP response. null if there was no response, or if the lead was erased.',
    'ok',
  ),
})

const renderDeliveryFields = createRecordRenderer(Type.Object(DELIVERY_FIELDS))

export const renderDelivery = (delivery: Delivery) => ({
  ...renderDeliveryFields(delivery),
  lead_reference: delivery.leadReference || null,
})

export const renderAttempt = createRecordRenderer(AttemptRecord)

/**
 * Returns no names if leads-service is unavailable, because deliveries are useful without names. Rethrows
 * every other error.
 */
const omitUnlessAvailable = (error: unknown): FindLeadNamesResponse => {
  if (error instanceof ServiceError && error.code === 'unavailable') return { leads: [] }
  throw error
}

/** Renders deliveries with the names of their leads. Finds all names with one call. */
const withLeadNames = async (
  { request, accountId, clients, limits }: Call<unknown>,
  deliveries: Delivery[],
) => {
  const references = [...new Set(deliveries.flatMap(({ leadReference }) => leadReference || []))]
  const { leads } =
    references.length > 0 && grants(request.principal.scopes, ['leads:read'])
      ? await clients.leads.findLeadNames({ accountId, references }, limits).catch(omitUnlessAvailable)
      : { leads: [] }
  const names = new Map(leads.map(({ reference, name }) => [reference, name]))
  return deliveries.map((delivery) => ({
    ...renderDelivery(delivery),
    lead_name: names.get(delivery.leadReference) ?? null,
  }))
}

/** Renders a delivery with the name of its lead. */
export const deliveryWithName = async (call: Call<unknown>, delivery: Delivery | undefined) =>
  (await withLeadNames(call, [delivery!]))[0]!

const NO_DELIVERIES = { records: [], total: 0, totalCapped: false, perPage: 20 }

export const listDeliveries = pagedListOperation({
  route: 'GET /manage/deliveries',
  summary: 'List deliveries',
  endpointTokens: true,
  description:
    'A token that is restricted to one endpoint sees only the deliveries to this endpoint. A request with `type`, `error`, `failed` or the start of a `lead_reference` searches at most 10,000 deliveries of each status. Such a response may have fewer records than a full page and still have a `next_cursor`, which continues the search. `total` counts only the matches among the searched deliveries.',
  what: 'deliveries',
  filters: DeliveryFilters,
  record: DeliveryRecord,
  find: async (call, { endpoint_id, lead_reference, from, to, ...given }) => {
    const { accountId, clients, limits, request } = call
    const leadReference = lead_reference?.toLowerCase()
    const times = { from: from && truncateInstant(from), to: to && truncateInstant(to) }
    const { endpointId = endpoint_id } = request.principal
    const isAnother = endpoint_id !== undefined && endpoint_id !== endpointId
    if (isAnother || !(await hasEndpoint(call))) return NO_DELIVERIES
    const asked = { accountId, endpointId, leadReference, ...times, ...given }
    const { deliveries, ...rest } = await clients.webhooks.listDeliveries(asked, limits)
    return { ...rest, records: await withLeadNames(call, deliveries) }
  },
})

const RequestRecord = named('WebhookRequest', {
  headers: Type.Record(Type.String(), Type.Unsafe<string | null>({ type: ['string', 'null'] }), {
    description:
      'Values of the headers, by name. null stands for a value that differs between attempts, such as a signature, and for the secret value of a custom header.',
    examples: [{ 'Content-Type': 'application/json', 'X-SERVICE-Signature': null }],
  }),
  body: Type.String(describe('The body that every attempt sends, byte for byte.', '{"data":{"id":1}}')),
})

const DeliveryWithAttempts = named('DeliveryWithAttempts', {
  ...DeliveryRecord.properties,
  attempts: Type.Array(AttemptRecord),
  request: orNull(RequestRecord, 'The request that each attempt sends. null if the lead was erased.'),
})

const renderRequest = ({ headers, body }: WebhookRequest) => ({
  headers: Object.fromEntries(headers.map(({ name, value }) => [name, value ?? null])),
  body: new TextDecoder().decode(body),
})

/** Finds the delivery in the path. Throws `not_found` if the token is restricted to another endpoint. */
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
  description: 'Returns a delivery with all its attempts and the request that each attempt sends.',
  answer: recordResponse(DeliveryWithAttempts, 'The delivery.'),
  handler: async (call) => {
    const { delivery, attempts, request: sent } = await findDelivery(call)
    return {
      ...(await deliveryWithName(call, delivery)),
      attempts: attempts.map(renderAttempt),
      request: sent ? renderRequest(sent) : null,
    }
  },
})

export const retryDelivery = operation({
  route: 'POST /manage/deliveries/:id/retry',
  summary: 'Retry a delivery',
  endpointTokens: true,
  description:
    'Makes one attempt now, whatever the status of the delivery. The retry schedule does not change. The response is 409 if an attempt is in flight or already due, or if the endpoint is disabled or deleted.',
  savesResponse: true,
  answer: recordResponse(DeliveryRecord, 'The delivery. The attempt is enqueued.'),
  problems: ['conflict', 'lead-erased'],
  handler: async (call) => {
    const { pathId, accountId, clients, limits, request } = call
    if (request.principal.endpointId !== undefined) await findDelivery(call)
    const key = { accountId, deliveryId: pathId() }
    const { delivery } = await clients.webhooks.retryDelivery(key, limits)
    return deliveryWithName(call, delivery)
  },
})
