import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf } from '../docs/shared-schemas'
import { bodyOf } from '../http/body'
import { limitsOf } from '../http/call-limits'
import { sendData } from '../http/send-json'
import { EndpointRecord, endpointFields, endpointRecord, endpointSecret } from './endpoint-schema'

const CreateWebhookEndpoint = Type.Object({
  url: endpointFields.url,
  description: Type.Optional(endpointFields.description),
  enabled: Type.Optional(endpointFields.enabled),
  secret: Type.Optional(endpointSecret),
})

const CreatedEndpoint = Type.Object({
  ...EndpointRecord.properties,
  secret: Type.String({ description: 'The key that signs, shown only here.', examples: ['whsec_…'] }),
})

/** POST /manage/webhook-endpoints. */
export const createWebhookEndpoint = (
  app: FastifyInstance,
  { authenticate, clients, validation }: Dependencies,
): void => {
  const check = validation.checker(CreateWebhookEndpoint)
  app.post(
    '/manage/webhook-endpoints',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'createWebhookEndpoint',
        tag: 'Webhooks',
        summary: 'Create a webhook endpoint',
        scope: 'manage',
        body: CreateWebhookEndpoint,
        answer: { description: 'The new endpoint with its secret.', schema: dataOf(CreatedEndpoint) },
      }),
    },
    async (request, reply) => {
      const { value, faults } = check(bodyOf(request))
      if (faults) throw ServiceError.invalid(faults)
      const { endpoint, secret } = await clients.webhooks.createWebhookEndpoint(
        {
          accountId: request.principal.accountId,
          url: value.url,
          description: value.description ?? undefined,
          enabled: value.enabled ?? true,
          secret: value.secret,
        },
        limitsOf(reply),
      )
      const { created_at, updated_at, ...record } = endpointRecord(endpoint!)
      return sendData(reply, { ...record, secret, created_at, updated_at })
    },
  )
}
