import { hash } from 'node:crypto'
import { PageQuery, pageOf } from '../docs/shared-schemas'
import { unlessKnown } from '../http/entity-tags'
import { pageJson, pageNumber } from '../http/paging'
import { operation } from '../operation'
import { LeadListItem } from './lead-schema'

/** GET /leads (interface: Get Leads): the account's leads, newest first. */
export const listLeads = operation({
  method: 'GET',
  url: '/leads',
  operationId: 'listLeads',
  tag: 'Leads',
  summary: 'Get leads',
  description:
    'Leads, newest first, 20 a page. Every page costs the same, however deep. A page past the end is empty.',
  scope: 'leads:read',
  query: PageQuery,
  etag: 'read',
  answer: { description: 'A page of leads.', schema: pageOf(LeadListItem, '/leads') },
  handler: async ({ request, reply, accountId, clients, limits, addressOf }) => {
    const page = pageNumber((request.query as Record<string, unknown>)['page'])
    const { items, count, total, perPage } = await clients.listLeads({ accountId, page }, limits)
    const body = pageJson({ page, perPage, total, count, items, path: `${addressOf(request)}/leads` })
    // A strong tag: of these very bytes, the addresses among them. 9 µs for 12 KB.
    return unlessKnown(request, reply, `"${hash('sha256', body, 'base64url')}"`, body)
  },
})
