import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { listOf } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendData } from '../http/send-json'
import { endpointRecord } from './endpoint-schema'

/** GET /manage/webhook-endpoints. */
export const listWebhookEndpoints = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.get(
    '/manage/webhook-endpoints',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'listWebhookEndpoints',
        tag: 'Webhooks',
        summary: 'List webhook endpoints',
        scope: 'manage',
        answer: { description: "The account's endpoints.", schema: listOf({ $ref: 'WebhookEndpoint#' }) },
      }),
    },
    async (request, reply) => {
      const { endpoints } = await clients.webhooks.listWebhookEndpoints(
        { accountId: request.principal.accountId },
        limitsOf(reply),
      )
      return sendData(reply, endpoints.map(endpointRecord))
    },
  )
}
