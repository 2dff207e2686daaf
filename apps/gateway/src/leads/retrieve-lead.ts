import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, LeadParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendJson } from '../http/send-json'
import { leadReference } from './lead-reference'

/** GET /leads/:reference (interface: Retrieve Lead). */
export const retrieveLead = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.get(
    '/leads/:reference',
    {
      onRequest: authenticate('leads:read'),
      schema: describe({
        operationId: 'retrieveLead',
        tag: 'Leads',
        summary: 'Retrieve a lead',
        scope: 'leads:read',
        params: LeadParams,
        answer: { description: 'The lead with its customer and quotes.', schema: dataOf({ $ref: 'Lead#' }) },
        problems: ['not-found'],
      }),
    },
    async (request, reply) =>
      sendJson(
        reply,
        await clients.retrieveLead(
          { accountId: request.principal.accountId, reference: leadReference(request) },
          limitsOf(reply),
        ),
      ),
  )
}
