import { Type } from '@sinclair/typebox'
import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams, orNull, timestamp } from '../api/schemas'
import { EndpointRecord, endpointRecord } from './endpoint-schema'

const RecoveryRecord = Type.Object(
  {
    since: timestamp('Deliveries recorded then or later.'),
    remaining: Type.Integer({
      description: 'How many are still to be attempted; 10,000 at most are counted.',
      examples: [12],
    }),
    remaining_capped: Type.Boolean({ description: 'Whether there may be more.', examples: [false] }),
  },
  { title: 'WebhookEndpointRecovery' },
)

const RetrievedEndpoint = Type.Object(
  {
    ...EndpointRecord.properties,
    recovery: orNull(RecoveryRecord, 'What is left of what is recovered; null when nothing is.'),
  },
  { title: 'RetrievedWebhookEndpoint' },
)

/** GET /manage/webhook-endpoints/:id. */
export const retrieveWebhookEndpoint = managementOperation({
  method: 'GET',
  url: '/manage/webhook-endpoints/:id',
  operationId: 'retrieveWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Retrieve a webhook endpoint',
  params: IdParams,
  answer: {
    description: 'The endpoint, without its secret.',
    schema: dataOf(RetrievedEndpoint),
  },
  run: async ({ request, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId(request) }
    const { endpoint, recovery } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    const { since, remaining, remainingCapped } = recovery ?? {}
    return {
      ...endpointRecord(endpoint!),
      recovery: recovery ? { since, remaining, remaining_capped: remainingCapped } : null,
    }
  },
})
