import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { deliveryRecord } from './delivery-schema'

/** POST /manage/deliveries/:id/retry. */
export const retryDelivery = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.post(
    '/manage/deliveries/:id/retry',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'retryDelivery',
        tag: 'Webhooks',
        summary: 'Attempt a delivery again',
        description:
          'One attempt at once, whatever the state of the delivery. It starts no new schedule and moves none. A conflict while an attempt is under way or due, or when the endpoint is disabled or deleted.',
        scope: 'manage',
        params: IdParams,
        answer: { description: 'The delivery, on its way.', schema: dataOf({ $ref: 'Delivery#' }) },
        problems: ['not-found', 'conflict'],
      }),
    },
    async (request, reply) => {
      const { accountId } = request.principal
      const { delivery } = await clients.webhooks.retryDelivery(
        { accountId, deliveryId: pathId(request) },
        limitsOf(reply),
      )
      return sendData(reply, deliveryRecord(delivery!))
    },
  )
}
