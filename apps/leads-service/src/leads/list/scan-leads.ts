import { isInstant, type LeadFilters } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import {
  type At,
  createdInTime,
  type Equality,
  inRange,
  listEqualities,
  listRangeFilters,
  passes,
  type RangeFilter,
  selectNumbers,
  selectsExactly,
  statementValues,
  testCondition,
} from './lead-filters'

type Key = { number: number; updated_at?: string }

const NUMBER = /^[1-9]\d{0,14}$/

/** Describes how a list is sorted, and how a cursor names the next lead. */
export const leadOrder = (sort: string) => {
  const byChange = sort.endsWith('updated_at')
  const descending = sort.startsWith('-')
  const columns: (keyof Key)[] = byChange ? ['updated_at', 'number'] : ['number']
  return {
    byChange,
    descending,
    columns,
    isCursor: (cursor: string): boolean => {
      const places = cursor.split(',')
      const isNumbered = places.length === columns.length && NUMBER.test(places.at(-1)!)
      return isNumbered && (!byChange || isInstant(places[0]!))
    },
    renderCursor: (key: Key): string => columns.map((column) => key[column]).join(','),
    /** Returns the condition that a lead `l` is at a cursor or after it. */
    from: (cursor: string, at: At): string => {
      const places = cursor.split(',').map((value) => at(value))
      return `(${columns.map((column) => `l.${column}`)}) ${descending ? '<=' : '>='} (${places})`
    },
  }
}

const READ_LIMIT = 10_000

interface Scan {
  accountId: number
  filters: LeadFilters
  /** A range of numbers that contains all leads created from `createdFrom` to `createdTo`. */
  numbers: { first: number; last: number }
  /** Whether `numbers` may also contain leads that were created at other times. */
  byDate: boolean
  /** Set for a list of changes. The list leaves out changes at or after this instant (change-horizon.ts). */
  horizon: string | undefined
  order: ReturnType<typeof leadOrder>
  cursor?: string | undefined
  /** How many matches to skip. */
  offset?: number
  /** The maximum number of matches to return. */
  limit: number
  /** Whether to count the matches. The scan then goes on to READ_LIMIT, and does not end with the page. */
  counted?: boolean
}

type ScannedRow = Key & { place: number; total: number | null; read: number | null }

/** Returns the filter with the fewest rows, or undefined if all filters have more than READ_LIMIT rows. */
const narrowest = async (tx: Transaction, accountId: number, filters: RangeFilter[]) => {
  const counts = await Promise.all(
    filters.map(async (filter) => {
      const { values, at } = statementValues()
      at(accountId)
      const text = `SELECT count(*)::int FROM (${selectNumbers(filter, at)} LIMIT ${READ_LIMIT + 1}) found`
      const [row] = await tx.query<{ count: number }>({ text, values })
      return { filter, count: row!.count }
    }),
  )
  const [fewest] = counts.sort((a, b) => a.count - b.count)
  return fewest && fewest.count <= READ_LIMIT ? fewest.filter : undefined
}

/** Returns the range of `numbers` to read. In a list by number, the range begins or ends at the cursor. */
const limitNumbers = ({ numbers: { first, last }, order, cursor }: Scan): Scan['numbers'] => {
  const place = order.byChange || cursor === undefined ? undefined : Number(cursor)
  return order.descending
    ? { first, last: Math.min(last, place ?? last) }
    : { first: Math.max(first, place ?? first), last }
}

const between = ({ first, last }: Scan['numbers'], at: At): string =>
  `l.number BETWEEN ${at(first)} AND ${at(last)}`

/** Returns the conditions that a lead `l` changed since `updatedSince`, and before the horizon. */
const changedInTime = ({ filters, horizon }: Scan, at: At): string[] => {
  const conditions: string[] = []
  if (horizon !== undefined) conditions.push(`l.updated_at < ${at(horizon)}`)
  if (filters.updatedSince !== undefined) conditions.push(`l.updated_at >= ${at(filters.updatedSince)}`)
  return conditions
}

/**
 * How a scan finds the leads to read. Each way except `range` reads one index in the order of the list.
 *
 * - range: reads all leads in the ranges of a filter, and sorts them. Only for a filter that has at most
 *   READ_LIMIT rows.
 * - change: reads leads in the order of changes.
 * - attribute: reads the leads that have an attribute, in the order of numbers. Used if the attribute has
 *   more than READ_LIMIT rows.
 * - test: reads test leads, in the order of numbers. Their index is smaller than all others.
 * - equality: reads the leads whose column has the value of a filter, in the order of numbers.
 * - number: reads leads in the order of numbers.
 */
type Reading =
  | { by: 'range'; filter: RangeFilter }
  | { by: 'attribute'; attribute: string }
  | { by: 'equality'; equality: Equality }
  | { by: 'change' | 'test' | 'number' }

const chooseReading = ({ filters, order }: Scan, narrow: RangeFilter | undefined): Reading => {
  if (narrow) return { by: 'range', filter: narrow }
  if (order.byChange) return { by: 'change' }
  if (filters.attribute !== undefined) return { by: 'attribute', attribute: filters.attribute }
  if (filters.test && filters.assignedTo === undefined) return { by: 'test' }
  const [equality] = listEqualities(filters)
  return equality ? { by: 'equality', equality } : { by: 'number' }
}

/**
 * Returns the SQL after FROM, which reads leads as `l`. If the scan reads by range or by attribute, the
 * subquery `found` first selects the numbers of the leads.
 */
const selectLeads = (scan: Scan, reading: Reading, at: At): string => {
  // OFFSET 0 keeps PostgreSQL from reading the leads before `found`.
  const withNumbers = (numbers: string) => `(${numbers}) found
      CROSS JOIN LATERAL (SELECT * FROM leads WHERE account_id = $1 AND number = found.number OFFSET 0) l`
  if (reading.by === 'range')
    return withNumbers(`SELECT DISTINCT number FROM (${selectNumbers(reading.filter, at)}) ranges`)
  if (reading.by !== 'attribute') return 'leads l'
  const { first, last } = limitNumbers(scan)
  return withNumbers(`SELECT r.number FROM lead_attributes r
        WHERE ${inRange('lead_attributes', reading.attribute, at)} AND r.number BETWEEN ${at(first)} AND ${at(last)}
        ORDER BY r.number ${scan.order.descending ? 'DESC' : 'ASC'} LIMIT ${READ_LIMIT + 1}`)
}

/**
 * Returns the condition that `column` equals `value` and that the lead's number is in a range. Compares the
 * column and the number as a pair: only the column's own index has the order of this pair, so PostgreSQL must
 * use this index. With a plain equality, PostgreSQL could use any index in the order of numbers. PostgreSQL
 * did so in an account of 10^7 leads, nearly all of which had another value. The statement read past all
 * these leads: first it took 8 s, and later it timed out.
 */
const alongIndex = (
  { column, value, indexed }: Equality,
  { first, last }: Scan['numbers'],
  at: At,
): string => {
  const key = at(value)
  return `${indexed} AND (${column}, l.number) >= (${key}, ${at(first)}) AND (${column}, l.number) <= (${key}, ${at(last)})`
}

/**
 * Lists the conditions that bound the range of the index. WHERE has no other conditions, so the scan reads
 * all leads of the range, and counts them towards READ_LIMIT.
 */
const listRangeConditions = (scan: Scan, reading: Reading, at: At): string[] => {
  const { order, cursor } = scan
  const isOfAccount = 'l.account_id = $1'
  if (order.byChange) {
    const behindCursor = cursor === undefined ? [] : [order.from(cursor, at)]
    return [isOfAccount, ...changedInTime(scan, at), ...behindCursor]
  }
  const numbers = limitNumbers(scan)
  if (reading.by === 'equality') return [isOfAccount, alongIndex(reading.equality, numbers, at)]
  const isTest = reading.by === 'test' ? testCondition(scan.filters) : []
  return [isOfAccount, between(numbers, at), ...isTest]
}

/**
 * Lists the conditions of the filters that `listRangeConditions` does not cover. A lead that the scan has
 * read is a match if it meets these conditions.
 */
const listMatchConditions = (scan: Scan, reading: Reading, rangeFilters: RangeFilter[], at: At): string[] => {
  const { filters, order, byDate } = scan
  const isFulfilled = (filter: RangeFilter) => {
    if (reading.by === 'range') return filter === reading.filter && selectsExactly(filter)
    return reading.by === 'attribute' && filter.table === 'lead_attributes'
  }
  const equalities = listEqualities(filters).filter(
    ({ column }) => reading.by !== 'equality' || column !== reading.equality.column,
  )
  return [
    ...rangeFilters.filter((filter) => !isFulfilled(filter)).map((filter) => passes(filter, at)),
    ...(reading.by === 'test' ? [] : testCondition(filters)),
    ...(order.byChange ? [between(limitNumbers(scan), at)] : changedInTime(scan, at)),
    ...(byDate ? createdInTime(filters, at) : []),
    ...equalities.map(({ column, value }) => `${column} = ${at(value)}`),
  ]
}

/** Lists the columns of ORDER BY, in the order of the index, so that PostgreSQL need not sort. */
const listSortColumns = ({ order }: Scan, reading: Reading): { name: string; column: string }[] => {
  if (reading.by === 'attribute') return [{ name: 'number', column: 'found.number' }]
  const columns = order.columns.map((name) => ({ name: name as string, column: `l.${name}` }))
  if (reading.by !== 'equality') return columns
  return [{ name: 'along', column: reading.equality.column }, ...columns]
}

/** Builds the statement that reads the leads of a scan. Its column `matches` says whether a lead matches. */
const buildStatement = (scan: Scan, rangeFilters: RangeFilter[], narrow: RangeFilter | undefined) => {
  const { values, at } = statementValues()
  at(scan.accountId)
  const reading = chooseReading(scan, narrow)
  const columns = listSortColumns(scan, reading)
  const orderBy = (by: 'name' | 'column') =>
    columns.map((column) => `${column[by]} ${scan.order.descending ? 'DESC' : 'ASC'}`).join(', ')
  const matches = listMatchConditions(scan, reading, rangeFilters, at)
  const text = `
    SELECT ${columns.map(({ name, column }) => `${column} AS ${name}`)}, ${matches.join(' AND ') || 'true'} AS matches,
      (row_number() OVER (ORDER BY ${orderBy('column')}))::int AS place
    FROM ${selectLeads(scan, reading, at)} WHERE ${listRangeConditions(scan, reading, at).join(' AND ')}
    ORDER BY ${orderBy('column')} LIMIT ${READ_LIMIT + 1}`
  return { text, outerOrderBy: orderBy('name'), values, at }
}

// The row after the first READ_LIMIT rows is not part of the response. It is selected, whether or not it
// matches, because the next page starts there.
const SHOWN = `(matches AND place <= ${READ_LIMIT}) OR place > ${READ_LIMIT}`

/**
 * Finds at most `limit` matches among the first 10,000 leads of one index. The next page starts at `next`.
 * With `counted`, `total` is the number of matches among the 10,000 leads, and `capped` says whether there
 * are more leads to read.
 */
export const scanLeads = async (
  tx: Transaction,
  scan: Scan,
): Promise<{ numbers: number[]; next: Key | undefined; total: number; capped: boolean }> => {
  const rangeFilters = listRangeFilters(scan.filters)
  const narrow = await narrowest(tx, scan.accountId, rangeFilters)
  const { text, outerOrderBy, values, at } = buildStatement(scan, rangeFilters, narrow)
  const page = `WHERE ${SHOWN} ORDER BY ${outerOrderBy} OFFSET ${at(scan.offset ?? 0)} LIMIT ${at(scan.limit + 1)}`
  const rows = await tx.query<ScannedRow>({
    text: scan.counted
      ? `WITH scanned AS MATERIALIZED (${text})
        SELECT counted.*, page.* FROM (
          SELECT count(*) FILTER (WHERE matches AND place <= ${READ_LIMIT})::int AS total, count(*)::int AS read FROM scanned
        ) counted LEFT JOIN (SELECT * FROM scanned ${page}) page ON true`
      : `SELECT * FROM (${text}) scanned ${page}`,
    values,
  })
  const found = rows.filter(({ place }) => place !== null)
  const shown = found.filter(({ place }) => place <= READ_LIMIT).slice(0, scan.limit)
  const [first] = rows
  return {
    numbers: shown.map(({ number }) => number),
    next: found[shown.length],
    total: first?.total ?? 0,
    capped: (first?.read ?? 0) > READ_LIMIT,
  }
}
