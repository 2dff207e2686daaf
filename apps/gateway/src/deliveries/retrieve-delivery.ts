import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { attemptRecord, DeliveryRecord, deliveryRecord } from './delivery-schema'

const DeliveryWithAttempts = Type.Object({
  ...DeliveryRecord.properties,
  attempts: Type.Array(Type.Unsafe({ $ref: 'Attempt#' })),
})

/** GET /manage/deliveries/:id: a delivery with every attempt. */
export const retrieveDelivery = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.get(
    '/manage/deliveries/:id',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'retrieveDelivery',
        tag: 'Webhooks',
        summary: 'Retrieve a delivery',
        description: 'With every attempt that was made.',
        scope: 'manage',
        params: IdParams,
        answer: { description: 'The delivery.', schema: dataOf(DeliveryWithAttempts) },
        problems: ['not-found'],
      }),
    },
    async (request, reply) => {
      const { accountId } = request.principal
      const { delivery, attempts } = await clients.webhooks.retrieveDelivery(
        {
          accountId,
          deliveryId: pathId(request),
        },
        limitsOf(reply),
      )
      return sendData(reply, { ...deliveryRecord(delivery!), attempts: attempts.map(attemptRecord) })
    },
  )
}
