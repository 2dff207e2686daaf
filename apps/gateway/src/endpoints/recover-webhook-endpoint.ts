import { Temporal } from '@js-temporal/polyfill'
import { Type } from '@sinclair/typebox'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { managementOperation } from '../operation'
import { text } from '../validation/fields'
import { readEndpointChange } from './read-endpoint-change'

const RecoverWebhookEndpoint = Type.Object(
  {
    since: text('Deliveries recorded then or later, ISO 8601 with an offset.', '2026-11-20T00:00:00Z', {
      format: 'instant',
    }),
  },
  { title: 'RecoverWebhookEndpointRequest' },
)

const Recovered = Type.Object(
  {
    recovered: Type.Integer({ description: 'How many deliveries are attempted again.', examples: [12] }),
  },
  { title: 'RecoveredDeliveries' },
)

/** POST /manage/webhook-endpoints/:id/recover. */
export const recoverWebhookEndpoint = managementOperation({
  method: 'POST',
  url: '/manage/webhook-endpoints/:id/recover',
  operationId: 'recoverWebhookEndpoint',
  tag: 'Webhooks',
  summary: 'Attempt exhausted deliveries again',
  description:
    'One more attempt of every exhausted delivery of this endpoint, the oldest first, ten a second, beside what is on schedule.',
  params: IdParams,
  body: RecoverWebhookEndpoint,
  answer: { description: 'How many there are.', schema: dataOf(Recovered) },
  problems: ['conflict'],
  run: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const since = Temporal.Instant.from(value.since).toString()
    const { recovered } = await call.clients.webhooks.recoverWebhookEndpoint({ ...key, since }, call.limits)
    return { recovered }
  },
})
