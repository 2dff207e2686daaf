import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { PageQuery, pageOf } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { pageJson } from '../http/page-json'
import { pageNumber } from '../http/page-number'
import { sendJson } from '../http/send-json'

/** GET /leads (interface: Get Leads): the account's leads, newest first. */
export const listLeads = (app: FastifyInstance, { authenticate, clients, addressOf }: Dependencies): void => {
  app.get(
    '/leads',
    {
      onRequest: authenticate('leads:read'),
      schema: describe({
        operationId: 'listLeads',
        tag: 'Leads',
        summary: 'Get leads',
        description:
          'Leads, newest first, 20 a page. Every page costs the same, however deep. A page past the end is empty.',
        scope: 'leads:read',
        query: PageQuery,
        answer: { description: 'A page of leads.', schema: pageOf({ $ref: 'LeadListItem#' }, '/leads') },
      }),
    },
    async (request, reply) => {
      const page = pageNumber((request.query as Record<string, unknown>)['page'])
      const { items, count, total, perPage } = await clients.listLeads(
        {
          accountId: request.principal.accountId,
          page,
        },
        limitsOf(reply),
      )
      return sendJson(
        reply,
        pageJson({ page, items, count, total, perPage, path: `${addressOf(request)}/leads` }),
      )
    },
  )
}
