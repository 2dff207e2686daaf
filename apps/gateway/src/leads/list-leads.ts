import { hash } from 'node:crypto'
import { LeadListItem } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { BATCHED_CALL_COST } from '../admission/admission'
import { type Call, operation } from '../api/operation'
import { cursorPageJson, filteredPageJson, pageJson, pageNumber } from '../api/page-json'
import { PageQuery, pagedListSchema } from '../api/schemas'
import { unlessKnown } from '../http/entity-tags'
import { asksMore, LeadQuery, leadFilters } from './lead-query'

const PER_PAGE = 20

const LeadPage = pagedListSchema(
  LeadListItem,
  '/leads',
  ' Present only if the query has a parameter other than `page`.',
)

/**
 * Responds to a query with parameters other than `page`. Returns a page, or the leads after a cursor, as
 * JSON.
 */
const findLeads = async (call: Call<LeadQuery>, page: number): Promise<Buffer> => {
  const { accountId, clients, limits, request } = call
  const query = await call.valid()
  const perPage = query.per_page ?? PER_PAGE
  const sort = query.sort ?? (query.updated_since === undefined ? '-created_at' : 'updated_at')
  const place =
    'cursor' in (request.query as object)
      ? ({ $case: 'cursor', value: query.cursor ?? '' } as const)
      : ({ $case: 'page', value: page } as const)
  const asked = { accountId, filters: leadFilters(query), sort, perPage, place }
  const { total, ...found } = await clients.leads.findLeads(asked, limits)
  if (total === undefined) return cursorPageJson(found.items, found.nextCursor)
  return filteredPageJson(call, { ...found, page, perPage, total }, { filters: query, what: 'leads' })
}

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
    const query = request.query as Record<string, unknown>
    const page = pageNumber(query['page'])
    const body = asksMore(query)
      ? await findLeads(call, page)
      : pageJson(call, { page, ...(await clients.listLeads({ accountId, page }, limits)) })
    // Uses a hash of the body as a strong entity tag. The hash is cheap: 9 µs for 12 KB.
    return unlessKnown(reply, `"${hash('sha256', body, 'base64url')}"`, body)
  },
})
