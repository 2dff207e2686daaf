import { Temporal } from '@js-temporal/polyfill'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { bodyOf } from '../http/body'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { text } from '../validation/fields'
import { endpointRefusal } from './endpoint-refusal'

const RecoverWebhookEndpoint = Type.Object({
  since: text({
    format: 'instant',
    description: 'Deliveries recorded then or later, ISO 8601 with an offset.',
    examples: ['2026-11-20T00:00:00Z'],
  }),
})

const Recovered = Type.Object({
  recovered: Type.Integer({ description: 'How many deliveries are attempted again.', examples: [12] }),
})

/** POST /manage/webhook-endpoints/:id/recover. */
export const recoverWebhookEndpoint = (
  app: FastifyInstance,
  { authenticate, clients, validation }: Dependencies,
): void => {
  const check = validation.checker(RecoverWebhookEndpoint)
  app.post(
    '/manage/webhook-endpoints/:id/recover',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'recoverWebhookEndpoint',
        tag: 'Webhooks',
        summary: 'Attempt exhausted deliveries again',
        description:
          'One more attempt of every exhausted delivery of this endpoint, the oldest first, ten a second, beside what is on schedule.',
        scope: 'manage',
        params: IdParams,
        body: RecoverWebhookEndpoint,
        answer: { description: 'How many there are.', schema: dataOf(Recovered) },
        problems: ['not-found', 'conflict'],
      }),
    },
    async (request, reply) => {
      const key = { accountId: request.principal.accountId, endpointId: pathId(request) }
      const { value, faults } = check(bodyOf(request))
      if (faults) throw await endpointRefusal({ clients, limits: limitsOf(reply), key, faults })
      const since = Temporal.Instant.from(value.since).toString()
      const { recovered } = await clients.webhooks.recoverWebhookEndpoint({ ...key, since }, limitsOf(reply))
      return sendData(reply, { recovered })
    },
  )
}
