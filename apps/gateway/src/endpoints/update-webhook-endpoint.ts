import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { bodyOf } from '../http/body'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { endpointRefusal } from './endpoint-refusal'
import { endpointFields, endpointRecord } from './endpoint-schema'

const UpdateWebhookEndpoint = Type.Partial(Type.Object(endpointFields))

/** PATCH /manage/webhook-endpoints/:id. */
export const updateWebhookEndpoint = (
  app: FastifyInstance,
  { authenticate, clients, validation }: Dependencies,
): void => {
  const check = validation.checker(UpdateWebhookEndpoint)
  app.patch(
    '/manage/webhook-endpoints/:id',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'updateWebhookEndpoint',
        tag: 'Webhooks',
        summary: 'Update a webhook endpoint',
        description: 'Changes what is given and leaves the rest. When it is enabled, held deliveries go on.',
        scope: 'manage',
        params: IdParams,
        body: UpdateWebhookEndpoint,
        answer: { description: 'The endpoint as it is now.', schema: dataOf({ $ref: 'WebhookEndpoint#' }) },
        problems: ['not-found'],
      }),
    },
    async (request, reply) => {
      const key = { accountId: request.principal.accountId, endpointId: pathId(request) }
      const { value, faults } = check(bodyOf(request))
      if (faults) throw await endpointRefusal({ clients, limits: limitsOf(reply), key, faults })
      const { url, description, enabled } = value
      const { endpoint } = await clients.webhooks.updateWebhookEndpoint(
        {
          ...key,
          url,
          description: description === null ? '' : description,
          enabled,
        },
        limitsOf(reply),
      )
      return sendData(reply, endpointRecord(endpoint!))
    },
  )
}
