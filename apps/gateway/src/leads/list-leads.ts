import { hash } from 'node:crypto'
import { LeadListItem } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { cursorPageJson, filteredPageJson, pageJson, pageNumber } from '../api/page-json'
import { PageQuery, pageOrStepOf } from '../api/schemas'
import { unlessKnown } from '../http/entity-tags'
import { asksMore, LeadQuery, leadFilters } from './lead-query'

const PER_PAGE = 20

const LeadPage = pageOrStepOf(LeadListItem, '/leads', ' Only with parameters beside `page`.')

/** A page, or the leads that follow a cursor, for a query with any parameter beside `page`. */
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

/** Interface: Get Leads. */
export const listLeads = operation({
  route: 'GET /leads',
  tag: 'Leads',
  summary: 'Get leads',
  description:
    'Leads, newest first, 20 a page. Every page costs the same, however deep. A page past the end is empty.\n\n' +
    'Filters can be combined. A response looks at 10,000 leads at most, so it may have fewer than asked for and a `next_cursor` all the same: `next_cursor` is null at the end alone. With filters `total` stops at 10,000 (`total_capped`). With `cursor` the response has `data` and `next_cursor`; following the cursors repeats no lead and leaves out none while others are created. With `updated_since`, and sorted by `updated_at`, changes are shown when none can come before them any more. With any parameter beside `page`, or another spelling of one such as `status[]`, an unknown or repeated one is refused.',
  query: Type.Object({ ...PageQuery.properties, ...LeadQuery.properties }),
  checks: LeadQuery,
  etag: 'read',
  answer: {
    description: 'A page of leads, or with `cursor` the leads that follow it.',
    schema: LeadPage,
  },
  isBatched: true,
  handler: async (call) => {
    const { request, reply, accountId, clients, limits } = call
    const query = request.query as Record<string, unknown>
    const page = pageNumber(query['page'])
    const body = asksMore(query)
      ? await findLeads(call, page)
      : pageJson(call, { page, ...(await clients.listLeads({ accountId, page }, limits)) })
    // A strong tag of the bytes. 9 µs for 12 KB.
    return unlessKnown(reply, `"${hash('sha256', body, 'base64url')}"`, body)
  },
})
