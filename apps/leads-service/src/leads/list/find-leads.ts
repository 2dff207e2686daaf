import { LeadFilters } from '@leadwire/contracts'
import { statement, type Transaction } from '@leadwire/service-kit'
import { isId, isInstant, isOptional, isText, validate } from '../../arguments'
import { searchWords } from '../../jobs/search/search-terms'
import type { Operation } from '../../operation'
import { loadLeadItems } from '../read/lead-rows'
import { changeHorizon } from './change-horizon'
import { leadOrder, SORTS, scanLeads } from './scan-leads'

const MAX_PER_PAGE = 100
const MAX_WORDS = 8

// One snapshot shows all of a response. PostgreSQL plans for accounts of a usual size, and would sort all leads of a large one,
// or collect the rows of an index before it reads the first of them.
export const SETTINGS = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  'SET LOCAL enable_sort = off',
  'SET LOCAL enable_bitmapscan = off',
]

const isSearch = (q: string) => {
  const { length } = searchWords(q)
  return isText(q) && length > 0 && length <= MAX_WORDS
}

export const soundFilters = (filters: LeadFilters) => ({
  status: isOptional(filters.status, isText),
  referrer: isOptional(filters.referrer, isText),
  postcode: isOptional(filters.postcode, isText),
  created_from: isOptional(filters.createdFrom, isInstant),
  created_to: isOptional(filters.createdTo, isInstant),
  updated_since: isOptional(filters.updatedSince, isInstant),
  assigned_to: isOptional(filters.assignedTo, isId),
  q: isOptional(filters.q, isSearch),
  attribute: isOptional(filters.attribute, (term) => isText(term, 1100)),
})

// Numbers and created_at of an account's leads rise together (number-leads.ts), and no number is missing: halving the range again
// and again finds the first lead created at an instant or later in 24 reads among 10^7, without an index that creates would pay for.
const selectFirst = statement<{ first: number }>('first-lead-since')`
  WITH RECURSIVE search AS (
    SELECT 1::bigint AS low, lead_count + 1 AS high FROM accounts WHERE id = $1
    UNION ALL
    SELECT CASE WHEN l.created_at < $2 THEN l.number + 1 ELSE low END,
      CASE WHEN l.created_at < $2 THEN high ELSE l.number END
    FROM search JOIN leads l ON l.account_id = $1 AND l.number = (low + high) / 2 WHERE low < high
  )
  SELECT low AS first FROM search WHERE low = high`

const firstSince = async (tx: Transaction, accountId: number, instant: string): Promise<number> => {
  const [row] = await selectFirst(tx, accountId, instant)
  return row?.first ?? 1
}

const countLeads = statement<{ count: number }>('count-leads')`
  SELECT lead_count AS count FROM accounts WHERE id = $1`

/** How many leads the account has, and the numbers of those that were created in time. */
export const numbersOf = async (
  tx: Transaction,
  accountId: number,
  { createdFrom, createdTo }: LeadFilters,
) => {
  const [[account], first, behind] = await Promise.all([
    countLeads(tx, accountId),
    createdFrom === undefined ? 1 : firstSince(tx, accountId, createdFrom),
    createdTo === undefined ? undefined : firstSince(tx, accountId, createdTo),
  ])
  const count = account?.count ?? 0
  return { count, first, last: behind === undefined ? count : behind - 1 }
}

/** A page of all leads by their numbers, which costs the same at any depth. */
const pageOfAll = (count: number, descending: boolean, offset: number, limit: number) => {
  const length = Math.max(0, Math.min(limit + 1, count - offset))
  const numbers = Array.from({ length }, (_, index) =>
    descending ? count - offset - index : offset + index + 1,
  )
  const [number] = numbers.splice(limit)
  return { numbers, next: number === undefined ? undefined : { number }, total: count, capped: false }
}

/**
 * A page of an account's leads, or a step of a walk by cursor (`GET /leads` with any of our parameters). It reads what one index
 * finds, 10,000 rows at most; the response has the matches among these, and a cursor for the rest.
 */
export const findLeads: Operation<'findLeads'> = async ({ database, jsonFormat }, request) => {
  const { accountId, filters = LeadFilters.create(), sort, perPage: limit, place } = request
  const order = leadOrder(sort)
  const page = place?.$case === 'page' ? place.value : undefined
  const cursor = place?.$case === 'cursor' && place.value !== '' ? place.value : undefined
  validate({
    account_id: isId(accountId),
    ...soundFilters(filters),
    sort: SORTS.includes(sort),
    per_page: limit >= 1 && limit <= MAX_PER_PAGE,
    page: isOptional(page, isId),
    cursor: isOptional(cursor, order.isCursor),
  })
  const isAboutChanges = order.byChange || filters.updatedSince !== undefined
  const horizon = isAboutChanges ? await changeHorizon(database) : undefined
  const offset = Math.min(((page ?? 1) - 1) * limit, Number.MAX_SAFE_INTEGER - limit - 1)
  const counted = page !== undefined
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined)
  return database.transaction(async (tx) => {
    for (const text of SETTINGS) tx.send({ text })
    const { count, ...created } = await numbersOf(tx, accountId, filters)
    const scan = { accountId, filters, numbers: created, horizon, order, cursor, offset, limit, counted }
    const { numbers, next, total, capped } =
      counted && !isFiltered && !order.byChange
        ? pageOfAll(count, order.descending, offset, limit)
        : await scanLeads(tx, scan)
    return {
      items: await loadLeadItems(tx, { accountId, numbers, jsonFormat }),
      count: numbers.length,
      total: counted ? total : undefined,
      totalCapped: capped,
      nextCursor: next && order.cursorOf(next),
    }
  })
}
