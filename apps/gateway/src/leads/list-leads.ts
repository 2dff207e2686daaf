import { LeadListItem } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { BATCHED_CALL_COST } from '../admission/admission'
import { operation } from '../api/operation'
import { pageJson, pageNumber } from '../api/page-json'
import { PageQuery, pagedListSchema } from '../api/schemas'
import { findLeads, sendLeads } from './find-leads'
import { asksMore, LeadQuery, leadFilters } from './lead-query'

const LeadPage = pagedListSchema(
  LeadListItem,
  '/leads',
  ' Present only if the query has a parameter other than `page`.',
)

/** Implements the lead API, section Get Leads. */
export const listLeads = operation({
  route: 'GET /leads',
  tag: 'Leads',
  summary: 'Get leads',
  description:
    'Returns leads, newest first, 20 per page. All pages cost the same. A page past the end is empty.\n\n' +
    'Filters can be combined. With filters, a response searches at most 10,000 leads. Such a response may have fewer leads than requested and still have a `next_cursor`, which is null only at the end. `total` then counts only the matches among the searched leads, and `total_capped` is true if more leads may match. With `cursor`, the response has only `data` and `next_cursor`. Reading by cursor neither repeats nor skips a lead, even if leads are created meanwhile. With `updated_since` or `sort=updated_at`, the list shows a change only once all earlier changes are visible, so that a cursor never misses one. This may take a moment. Unknown parameters are ignored, unless the query also has one of the parameters listed here other than `page`, or a misspelling of one such as `status[]`. In that case, every unknown or repeated parameter is a 422.',
  query: Type.Object({ ...PageQuery.properties, ...LeadQuery.properties }),
  checks: LeadQuery,
  etag: 'read',
  answer: {
    description: 'A page of leads, or with `cursor` the next leads.',
    schema: LeadPage,
  },
  callCost: BATCHED_CALL_COST,
  handler: async (call) => {
    const { request, reply, accountId, clients, limits } = call
    const asked = request.query as Record<string, unknown>
    if (asksMore(asked)) {
      const query = await call.valid()
      return sendLeads(reply, await findLeads(call, query, { filters: leadFilters(query) }))
    }
    const page = pageNumber(asked['page'])
    const found = await clients.listLeads({ accountId, page }, limits)
    return sendLeads(reply, pageJson(call, { page, ...found }))
  },
})
