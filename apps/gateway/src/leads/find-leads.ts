import { ServiceError } from '@leadwire/service-kit'
import { bothFaults, cursorPageJson, pageJson, pageNumber, refuseBeyond } from '../http/paging'
import type { Call } from '../operation'
import { addFaults } from '../validation/faults'
import { queryFaults } from '../validation/query-faults'
import { textFaults } from '../validation/text-faults'
import { LeadQuery, leadFilters } from './lead-query'

const PER_PAGE = 20

const PARAMETERS = ['page', ...Object.keys(LeadQuery.properties)]

const checked = ({ check, request }: Call<LeadQuery>) => {
  const given = request.query as Record<string, unknown>
  const faults = [queryFaults(given, PARAMETERS), bothFaults(given)].reduce(addFaults, textFaults(given))
  const { page: _page, ...fields } = given
  const { value, faults: found } = check({ fields, faults, form: true })
  if (found) throw ServiceError.invalid(found)
  return { value, page: pageNumber(given['page']), isWalk: 'cursor' in given }
}

/** The addresses of other pages keep what was asked for. */
const kept = (query: LeadQuery) =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))

/** GET /leads with any parameter of ours: a page, or a step of a walk by cursor, as JSON. */
export const findLeads = async (call: Call<LeadQuery>): Promise<Buffer> => {
  const { accountId, clients, limits, addressOf, request } = call
  const { value, page, isWalk } = checked(call)
  const perPage = value.per_page ?? PER_PAGE
  const { items, count, total, totalCapped, nextCursor } = await clients.leads.findLeads(
    {
      accountId,
      filters: leadFilters(value),
      sort: value.sort ?? (value.updated_since === undefined ? '-created_at' : 'updated_at'),
      perPage,
      place: isWalk ? { $case: 'cursor', value: value.cursor ?? '' } : { $case: 'page', value: page },
    },
    limits,
  )
  if (total === undefined) return cursorPageJson(items, nextCursor)
  refuseBeyond({ page, perPage, total, totalCapped, what: 'leads' })
  const path = `${addressOf(request)}/leads`
  const more = { total_capped: totalCapped, next_cursor: nextCursor ?? null }
  return pageJson({ page, perPage, total, count, items, path, query: kept(value), more })
}
