import { type FindLeadsRequest, type FindLeadsResponse, LeadFilters } from '@leadwire/contracts'
import type { Database, OpenTransaction, Transaction } from '@leadwire/service-kit'
import { isId, isInstant, isText, validate } from '../../arguments'
import { searchWords } from '../../jobs/search/search-terms'
import { loadLeadItems } from '../read/load-lead-items'
import { changeHorizon } from './change-horizon'
import { leadOrder, SORTS } from './lead-order'
import { scanLeads } from './scan-leads'

const MAX_PER_PAGE = 100
const MAX_WORDS = 8

// One snapshot shows all of a response. PostgreSQL plans for accounts of a usual size, and would sort all leads of a large one,
// or collect the rows of an index before it reads the first of them.
export const SETTINGS = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  'SET LOCAL enable_sort = off',
  'SET LOCAL enable_bitmapscan = off',
]

const isFilter = <Value>(value: Value | undefined, isSound: (value: Value) => boolean) =>
  value === undefined || isSound(value)

const isSearch = (q: string) => {
  const { length } = searchWords(q)
  return isText(q) && length > 0 && length <= MAX_WORDS
}

/** What is sound of filters, by parameter. */
export const soundFilters = (filters: LeadFilters | undefined) => ({
  status: isFilter(filters?.status, isText),
  referrer: isFilter(filters?.referrer, isText),
  postcode: isFilter(filters?.postcode, isText),
  created_from: isFilter(filters?.createdFrom, isInstant),
  created_to: isFilter(filters?.createdTo, isInstant),
  updated_since: isFilter(filters?.updatedSince, isInstant),
  assigned_to: isFilter(filters?.assignedTo, isId),
  q: isFilter(filters?.q, isSearch),
})

const validateFind = ({ accountId, filters, sort, perPage, place }: FindLeadsRequest): void =>
  validate({
    account_id: isId(accountId),
    ...soundFilters(filters),
    sort: SORTS.includes(sort),
    per_page: perPage >= 1 && perPage <= MAX_PER_PAGE,
    page: place?.$case !== 'page' || isId(place.value),
    cursor: place?.$case !== 'cursor' || place.value === '' || leadOrder(sort).isCursor(place.value),
  })

// Numbers and created_at of an account's leads rise together (number-leads.ts), and no number is missing: halving the range again
// and again finds the first lead created at an instant or later in 24 reads among 10^7, without an index that creates would pay for.
const FIRST_SINCE = `
  WITH RECURSIVE search AS (
    SELECT 1::bigint AS low, lead_count + 1 AS high FROM accounts WHERE id = $1
    UNION ALL
    SELECT CASE WHEN l.created_at < $2 THEN l.number + 1 ELSE low END,
      CASE WHEN l.created_at < $2 THEN high ELSE l.number END
    FROM search JOIN leads l ON l.account_id = $1 AND l.number = (low + high) / 2 WHERE low < high
  )
  SELECT low AS first FROM search WHERE low = high`

const firstSince = async (tx: Transaction, accountId: number, instant: string): Promise<number> => {
  const values = [accountId, instant]
  const [row] = await tx.query<{ first: number }>({ name: 'first-lead-since', text: FIRST_SINCE, values })
  return row?.first ?? 1
}

const COUNT_LEADS = 'SELECT lead_count AS count FROM accounts WHERE id = $1'

/** How many leads the account has, and the numbers of those that were created in time. */
export const numbersOf = async (
  tx: Transaction,
  accountId: number,
  { createdFrom, createdTo }: LeadFilters,
) => {
  const [[account], first, behind] = await Promise.all([
    tx.query<{ count: number }>({ name: 'count-of-leads', text: COUNT_LEADS, values: [accountId] }),
    createdFrom === undefined ? 1 : firstSince(tx, accountId, createdFrom),
    createdTo === undefined ? undefined : firstSince(tx, accountId, createdTo),
  ])
  const count = account?.count ?? 0
  return { count, first, last: behind === undefined ? count : behind - 1 }
}

/** A page of all leads by their numbers, which costs the same at any depth. */
const pageOfAll = (count: number, sort: string, { offset, limit }: { offset: number; limit: number }) => {
  const here = Array.from(
    { length: Math.max(0, Math.min(limit + 1, count - offset)) },
    (_, index) => offset + index,
  )
  const numbers = here.map((skipped) => (sort === 'created_at' ? skipped + 1 : count - skipped))
  const [number] = numbers.splice(limit)
  return { numbers, next: number === undefined ? undefined : { number }, total: count, capped: false }
}

const find = async (tx: Transaction, request: FindLeadsRequest, horizon: string | undefined) => {
  const { accountId, filters = LeadFilters.create(), sort, perPage: limit, place } = request
  const order = leadOrder(sort)
  const { count, ...numbers } = await numbersOf(tx, accountId, filters)
  const page = place?.$case === 'page' ? place.value : undefined
  const offset = Math.min(((page ?? 1) - 1) * limit, Number.MAX_SAFE_INTEGER - limit - 1)
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined)
  if (page !== undefined && !isFiltered && !order.byChange) return pageOfAll(count, sort, { offset, limit })
  const cursor = place?.$case === 'cursor' && place.value !== '' ? place.value : undefined
  const counted = page !== undefined
  return scanLeads(tx, { accountId, filters, numbers, horizon, order, cursor, offset, limit, counted })
}

/**
 * A page of an account's leads, or a step of a walk by cursor, with filters, order and size of one's choice (`GET /leads` with
 * any of our parameters). It reads what one index finds, 10,000 rows at most; the response has the matches among these, and
 * a cursor for the rest. Throws invalid.
 */
export const findLeads =
  ({ database, jsonFormat }: { database: Database; jsonFormat: number }) =>
  async (request: FindLeadsRequest): Promise<FindLeadsResponse> => {
    validateFind(request)
    const { accountId, sort } = request
    const order = leadOrder(sort)
    const isAboutChanges = order.byChange || request.filters?.updatedSince !== undefined
    const horizon = isAboutChanges ? await changeHorizon(database) : undefined
    return database.transaction(async (tx: OpenTransaction) => {
      for (const text of SETTINGS) tx.send({ text })
      const { numbers, next, total, capped } = await find(tx, request, horizon)
      return {
        items: await loadLeadItems(tx, { accountId, numbers, jsonFormat }),
        count: numbers.length,
        total: request.place?.$case === 'page' ? total : undefined,
        totalCapped: capped,
        nextCursor: next && order.cursorOf(next),
      }
    })
  }
