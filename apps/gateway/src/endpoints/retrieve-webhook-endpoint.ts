import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, named, orNull, timestamp } from '../api/schemas'
import { describe } from '../validation/fields'
import { EndpointRecord, endpointRecord } from './endpoint-schema'

const RecoveryRecord = named('WebhookEndpointRecovery')({
  since: timestamp('Deliveries recorded then or later.'),
  remaining: Type.Integer(describe('How many are still to be attempted; 10,000 at most are counted.', 12)),
  remaining_capped: Type.Boolean({ description: 'Whether there may be more.', examples: [false] }),
})

const RetrievedEndpoint = named('RetrievedWebhookEndpoint')({
  ...EndpointRecord.properties,
  recovery: orNull(RecoveryRecord, 'What is left of what is recovered; null when nothing is.'),
})

const recoveryRecord = recordOf(RecoveryRecord)

export const retrieveWebhookEndpoint = operation({
  route: 'GET /manage/webhook-endpoints/:id',
  operationId: 'retrieveWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Retrieve a webhook endpoint',
  answer: dataOf(RetrievedEndpoint, 'The endpoint, without its secret.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const key = { accountId, endpointId: pathId() }
    const { endpoint, recovery } = await clients.webhooks.retrieveWebhookEndpoint(key, limits)
    return { ...endpointRecord(endpoint!), recovery: recovery ? recoveryRecord(recovery) : null }
  },
})
