import { LeadFilters } from '@leadwire/contracts'
import { ServiceError, statement, type Transaction } from '@leadwire/service-kit'
import { searchWords } from '../../jobs/search/search-terms'
import type { Operation } from '../../operation'
import { loadLeadItems } from '../read/lead-rows'
import { changeHorizon } from './change-horizon'
import { loadManagedItems } from './load-managed-items'
import { leadOrder, scanLeads } from './scan-leads'

const MAX_WORDS = 8

// REPEATABLE READ makes a response one snapshot. The other settings are for large accounts, because
// PostgreSQL plans for an account of a usual size. Without these settings, PostgreSQL would sort all leads of
// a large account, or scan all matching entries of an index (a bitmap scan) before it returns the first lead.
export const SETTINGS = [
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
  'SET LOCAL enable_sort = off',
  'SET LOCAL enable_bitmapscan = off',
]

/**
 * Throws `invalid` for a search with no words, or with too many words. Each word costs an index scan. `field`
 * is the name of the search in the request.
 */
export const checkSearch = ({ q }: { q?: string | undefined }, field = 'q'): void => {
  if (q === undefined) return
  const { length } = searchWords(q)
  if (length === 0 || length > MAX_WORDS)
    throw ServiceError.invalid({
      [field]: [`The ${field} must have 1 to ${MAX_WORDS} words with letters or digits.`],
    })
}

// Finds the number of the first lead that was created at or after $2. Uses binary search, because created_at
// rises with the number (number-leads.ts), and no number is missing. Among 10^7 leads the search takes 24
// reads. An index on created_at would instead slow down all creates.
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

const countLeads = statement<{ count: number; hasDated: boolean }>('count-leads')`
  SELECT lead_count AS count, has_dated_leads AS "hasDated" FROM accounts WHERE id = $1`

/**
 * Counts the leads of the account, and finds the range of numbers of the leads that were stored from
 * `createdFrom` to `createdTo`. An imported lead is stored later than it was created.
 */
export const findStoredNumbers = async (
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
  const last = behind === undefined ? count : behind - 1
  return { count, first, last, hasDated: account?.hasDated ?? false }
}

/**
 * Counts the leads of the account, and finds a range of numbers that contains all leads that were created
 * from `createdFrom` to `createdTo`. If the account has imported leads, the range may also contain other
 * leads. `byDate` then says that the scan must compare the dates, too.
 */
export const findCreatedNumbers = async (tx: Transaction, accountId: number, filters: LeadFilters) => {
  const { count, first, last, hasDated } = await findStoredNumbers(tx, accountId, filters)
  return { count, numbers: { first, last: hasDated ? count : last }, byDate: hasDated }
}

/**
 * Returns a page of the list of all leads. Computes the numbers of the leads, so every page costs the same.
 */
const listPageOfAll = (count: number, descending: boolean, offset: number, limit: number) => {
  const length = Math.max(0, Math.min(limit + 1, count - offset))
  const numbers = Array.from({ length }, (_, index) =>
    descending ? count - offset - index : offset + index + 1,
  )
  const [number] = numbers.splice(limit)
  return { numbers, next: number === undefined ? undefined : { number }, total: count, capped: false }
}

/**
 * Returns a page of an account's leads, or the leads from a cursor on. Serves `GET /manage/leads`, and
 * `GET /leads` if the request has any of Leadwire's own parameters. Reads at most 10,000 rows of one index.
 * The response has the matches among these rows, and a cursor from which the next request continues.
 */
export const findLeads: Operation<'findLeads'> = async ({ database, jsonFormat }, request) => {
  const { accountId, filters = LeadFilters.create(), sort, perPage: limit, place, managed } = request
  const loadItems = managed ? loadManagedItems : loadLeadItems
  const order = leadOrder(sort)
  const page = place?.$case === 'page' ? place.value : undefined
  const cursor = place?.$case === 'cursor' && place.value !== '' ? place.value : undefined
  checkSearch(filters)
  if (cursor !== undefined && !order.isCursor(cursor))
    throw ServiceError.invalid({
      cursor: ['The cursor is invalid. Send the next_cursor of a response unchanged.'],
    })
  const isAboutChanges = order.byChange || filters.updatedSince !== undefined
  const horizon = isAboutChanges ? await changeHorizon(database) : undefined
  const offset = Math.min(((page ?? 1) - 1) * limit, Number.MAX_SAFE_INTEGER - limit - 1)
  const counted = page !== undefined
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined)
  return database.transaction(async (tx) => {
    for (const text of SETTINGS) tx.send({ text })
    const { count, ...created } = await findCreatedNumbers(tx, accountId, filters)
    const scan = { accountId, filters, ...created, horizon, order, cursor, offset, limit, counted }
    const { numbers, next, total, capped } =
      counted && !isFiltered && !order.byChange
        ? listPageOfAll(count, order.descending, offset, limit)
        : await scanLeads(tx, scan)
    return {
      items: await loadItems(tx, { accountId, numbers, jsonFormat }),
      count: numbers.length,
      total: counted ? total : undefined,
      totalCapped: capped,
      nextCursor: next && order.renderCursor(next),
    }
  })
}
