import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { endpointRecord } from './endpoint-schema'

/** GET /manage/webhook-endpoints/:id. */
export const retrieveWebhookEndpoint = (
  app: FastifyInstance,
  { authenticate, clients }: Dependencies,
): void => {
  app.get(
    '/manage/webhook-endpoints/:id',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'retrieveWebhookEndpoint',
        tag: 'Webhooks',
        summary: 'Retrieve a webhook endpoint',
        scope: 'manage',
        params: IdParams,
        answer: {
          description: 'The endpoint, without its secret.',
          schema: dataOf({ $ref: 'WebhookEndpoint#' }),
        },
        problems: ['not-found'],
      }),
    },
    async (request, reply) => {
      const { accountId } = request.principal
      const { endpoint } = await clients.webhooks.retrieveWebhookEndpoint(
        { accountId, endpointId: pathId(request) },
        limitsOf(reply),
      )
      return sendData(reply, endpointRecord(endpoint!))
    },
  )
}
