import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { deliveryRecord } from './delivery-schema'

/** POST /manage/webhook-endpoints/:id/test: sends a sample. */
export const testWebhookEndpoint = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.post(
    '/manage/webhook-endpoints/:id/test',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'testWebhookEndpoint',
        tag: 'Webhooks',
        summary: 'Send a sample to a webhook endpoint',
        description:
          'A Lead Created with a sample lead (`test` is 1, ids are 0), to this endpoint alone, signed, recorded and retried like any other. While the endpoint is disabled it is held.',
        scope: 'manage',
        params: IdParams,
        answer: { description: 'The delivery, on its way.', schema: dataOf({ $ref: 'Delivery#' }) },
        problems: ['not-found'],
      }),
    },
    async (request, reply) => {
      const { accountId } = request.principal
      const endpointId = pathId(request)
      const { account } = await clients.accounts.retrieveAccount({ accountId }, limitsOf(reply))
      const accountKey = account!.apiKey
      const { delivery } = await clients.webhooks.testWebhookEndpoint(
        { accountId, endpointId, accountKey },
        limitsOf(reply),
      )
      return sendData(reply, deliveryRecord(delivery!))
    },
  )
}
