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
    recovered: Type.Integer({
      description: 'How many deliveries are attempted again; 10,000 at most are counted.',
      examples: [12],
    }),
    recovered_capped: Type.Boolean({ description: 'Whether there may be more.', examples: [false] }),
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
    'One more attempt of every exhausted delivery of this endpoint, the oldest first, ten a second, beside what is on schedule. It goes on by itself; the endpoint tells what is left. Disabling or deleting the endpoint ends it. Asked again, it asks for none twice.',
  params: IdParams,
  body: RecoverWebhookEndpoint,
  answer: { description: 'How many there are.', schema: dataOf(Recovered) },
  problems: ['conflict'],
  run: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const since = Temporal.Instant.from(value.since).toString()
    const asked = { ...key, since }
    const answer = await call.clients.webhooks.recoverWebhookEndpoint(asked, call.limits)
    return { recovered: answer.recovered, recovered_capped: answer.recoveredCapped }
  },
})
