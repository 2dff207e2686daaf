import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import { listOf, named, nullableTimestamp, timestamp } from '../api/schemas'
import { seesEndpoint } from '../auth/authenticate'

const count = (description: string) => Type.Integer({ description, examples: [0] })

const CAPPED = '; 10000 stands for as many or more.'

const Hour = named('WebhookEndpointHour', {
  hour: timestamp('When the hour began.'),
  succeeded: count('Attempts of the hour that succeeded.'),
  failed: count('Attempts of the hour that failed.'),
})

const Health = named('WebhookEndpointHealth', {
  endpoint_id: Type.Integer({ examples: [1] }),
  last_success_at: nullableTimestamp(
    'When the last attempt that succeeded began; null when none ever did.',
    '2026-11-21T09:30:00.123456Z',
  ),
  pending: count(`Deliveries on their way${CAPPED}`),
  held: count(`Deliveries that wait for the endpoint to be enabled${CAPPED}`),
  exhausted: count(`Deliveries that were given up${CAPPED}`),
  hours: Type.Array(Hour, { description: 'The last 24 hours, the current one last.' }),
})

const hourRecord = recordOf(Hour)
const healthRecord = recordOf(Health)

export const listWebhookEndpointHealth = operation({
  route: 'GET /manage/webhook-endpoint-health',
  summary: 'Show how webhook endpoints are doing',
  endpointTokens: true,
  answer: listOf(Health, "One record for each of the account's endpoints that the token sees."),
  handler: async ({ accountId, clients, limits, request }) => {
    const { endpoints } = await clients.webhooks.listWebhookEndpointHealth({ accountId }, limits)
    return endpoints
      .filter(({ endpointId }) => seesEndpoint(request.principal, endpointId))
      .map((endpoint) => ({ ...healthRecord(endpoint), hours: endpoint.hours.map(hourRecord) }))
  },
})
