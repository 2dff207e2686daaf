import { ServiceError } from '@leadwire/service-kit'
import type { Call } from '../api/operation'
import { cursorPageJson, pageJson, pageNumber, refuseBeyond } from '../api/page-json'
import { type LeadQuery, leadFilters } from './lead-query'

const PER_PAGE = 20

/** The addresses of other pages keep what was asked for. */
const kept = (query: LeadQuery) =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))

/** GET /leads with any parameter of ours: a page, or a step of a walk by cursor, as JSON. */
export const findLeads = async (call: Call<LeadQuery>): Promise<Buffer> => {
  const { accountId, clients, limits, addressOf, request } = call
  const { value, faults } = call.check()
  if (faults) throw ServiceError.invalid(faults)
  const given = request.query as Record<string, unknown>
  const page = pageNumber(given['page'])
  const perPage = value.per_page ?? PER_PAGE
  const { items, count, total, totalCapped, nextCursor } = await clients.leads.findLeads(
    {
      accountId,
      filters: leadFilters(value),
      sort: value.sort ?? (value.updated_since === undefined ? '-created_at' : 'updated_at'),
      perPage,
      place:
        'cursor' in given ? { $case: 'cursor', value: value.cursor ?? '' } : { $case: 'page', value: page },
    },
    limits,
  )
  if (total === undefined) return cursorPageJson(items, nextCursor)
  refuseBeyond({ page, perPage, total, totalCapped, what: 'leads' })
  const path = `${addressOf(request)}/leads`
  const more = { total_capped: totalCapped, next_cursor: nextCursor ?? null }
  return pageJson({ page, perPage, total, count, items, path, query: kept(value), more })
}
