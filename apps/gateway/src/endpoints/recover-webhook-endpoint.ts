import { Temporal } from '@js-temporal/polyfill'
import { Type } from '@sinclair/typebox'
import { managementOperation } from '../api/operation'
import { dataOf, IdParams } from '../api/schemas'
import { oneOf, text } from '../validation/fields'
import { readEndpointChange } from './read-endpoint-change'

const RecoverWebhookEndpoint = Type.Object(
  {
    since: text('Deliveries recorded then or later, ISO 8601 with an offset.', '2026-11-20T00:00:00Z', {
      format: 'instant',
    }),
    state: Type.Optional(
      oneOf(
        ['undelivered', 'exhausted', 'all'],
        '`exhausted` (the default); `undelivered`: also those that wait for a retry, without waiting for its time; `all`: also those that were delivered.',
        'undelivered',
      ),
    ),
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
  summary: 'Attempt deliveries again',
  description:
    'One more attempt of every delivery of this endpoint that is of the `state`, ten a second: first the exhausted ones, the oldest first. Retries keep their schedule, and a delivery whose retry is due is left to it. It continues in the background; the endpoint shows what is left (`recovery`). Disabling or deleting the endpoint ends it. Asked again, it asks for none twice.',
  params: IdParams,
  body: RecoverWebhookEndpoint,
  answer: { description: 'How many there are.', schema: dataOf(Recovered) },
  problems: ['conflict'],
  run: async (call) => {
    const { key, value } = await readEndpointChange(call)
    const since = Temporal.Instant.from(value.since).toString()
    const asked = { ...key, since, state: value.state }
    const answer = await call.clients.webhooks.recoverWebhookEndpoint(asked, call.limits)
    return { recovered: answer.recovered, recovered_capped: answer.recoveredCapped }
  },
})
