import { LEAD_STATUSES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { sendJson } from '../http/send-json'

const Answer = Type.Object({
  data: Type.Array(Type.Unsafe<string>({ type: 'string', enum: LEAD_STATUSES }), {
    examples: [LEAD_STATUSES],
  }),
})

/** GET /leads/statuses (interface: List Lead Statuses). */
export const listLeadStatuses = (app: FastifyInstance, { authenticate }: Dependencies): void => {
  const body = Buffer.from(JSON.stringify({ data: LEAD_STATUSES }))
  app.get(
    '/leads/statuses',
    {
      onRequest: authenticate('leads:read'),
      schema: describe({
        operationId: 'listLeadStatuses',
        tag: 'Leads',
        summary: 'List lead statuses',
        scope: 'leads:read',
        answer: { description: 'The statuses a lead can have.', schema: Answer },
      }),
    },
    async (_request, reply) => sendJson(reply, body),
  )
}
