import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import { listResponse, named, nullableTimestamp, timestamp } from '../api/schemas'
import { seesEndpoint } from '../auth/authenticate'

const count = (description: string) => Type.Integer({ description, examples: [0] })

const CAPPED = '. 10000 means 10,000 or more.'

const Hour = named('WebhookEndpointHour', {
  hour: timestamp('When the hour started.'),
  succeeded: count('Number of successful attempts during the hour.'),
  failed: count('Number of failed attempts during the hour.'),
})

const Health = named('WebhookEndpointHealth', {
  endpoint_id: Type.Integer({ examples: [1] }),
  last_success_at: nullableTimestamp(
    'When the last successful attempt started. null if no attempt has succeeded.',
    '2026-11-21T09:30:00.123456Z',
  ),
  pending: count(`Number of pending deliveries${CAPPED}`),
  held: count(`Number of deliveries that are held until the endpoint is enabled${CAPPED}`),
  exhausted: count(`Number of exhausted deliveries${CAPPED}`),
  hours: Type.Array(Hour, { description: 'The last 24 hours, oldest first. The current hour is last.' }),
})

const renderHour = createRecordRenderer(Hour)
const renderHealth = createRecordRenderer(Health)

export const listWebhookEndpointHealth = operation({
  route: 'GET /manage/webhook-endpoint-health',
  summary: 'List the health of webhook endpoints',
  endpointTokens: true,
  answer: listResponse(Health, 'The health of each endpoint that the token can see.'),
  handler: async ({ accountId, clients, limits, request }) => {
    const { endpoints } = await clients.webhooks.listWebhookEndpointHealth({ accountId }, limits)
    return endpoints
      .filter(({ endpointId }) => seesEndpoint(request.principal, endpointId))
      .map((endpoint) => ({ ...renderHealth(endpoint), hours: endpoint.hours.map(renderHour) }))
  },
})
