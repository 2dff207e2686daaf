import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { endpointRecord } from './endpoint-schema'

/** DELETE /manage/webhook-endpoints/:id. */
export const deleteWebhookEndpoint = (
  app: FastifyInstance,
  { authenticate, clients }: Dependencies,
): void => {
  app.delete(
    '/manage/webhook-endpoints/:id',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'deleteWebhookEndpoint',
        tag: 'Webhooks',
        summary: 'Delete a webhook endpoint',
        description: 'What is pending for it is cancelled.',
        scope: 'manage',
        params: IdParams,
        answer: { description: 'The endpoint as it was.', schema: dataOf({ $ref: 'WebhookEndpoint#' }) },
        problems: ['not-found'],
      }),
    },
    async (request, reply) => {
      const key = { accountId: request.principal.accountId, endpointId: pathId(request) }
      const { endpoint } = await clients.webhooks.retrieveWebhookEndpoint(key, limitsOf(reply))
      await clients.webhooks.deleteWebhookEndpoint(key, limitsOf(reply))
      return sendData(reply, endpointRecord(endpoint!))
    },
  )
}
