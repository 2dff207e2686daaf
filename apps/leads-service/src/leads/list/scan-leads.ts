import type { LeadFilters } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import {
  type At,
  type Equality,
  equalitiesOf,
  inRange,
  type PrefixRange,
  prefixRangesOf,
  startsWith,
  statementValues,
  testCondition,
} from './lead-filters'
import type { Key, LeadOrder } from './lead-order'

/** How many rows one response reads at most. */
export const READ_LIMIT = 10_000

export interface Scan {
  accountId: number
  filters: LeadFilters
  /** The numbers of the leads created between `createdFrom` and `createdTo`. */
  numbers: { first: number; last: number }
  /** Changes from here on are not shown yet, in a list that is about changes. */
  horizon: string | undefined
  order: LeadOrder
  /** Where to begin; undefined for the beginning. */
  cursor: string | undefined
  /** How many matches to leave out, and how many to answer with at most. */
  offset: number
  limit: number
  /** Whether to count the matches: all that may be read is then read. */
  counted: boolean
}

interface ScannedRow extends Key {
  place: number
  total: number | null
  read: number | null
}

const COUNT_RANGE = (table: string, condition: string) =>
  `SELECT count(*)::int FROM (SELECT FROM ${table} r WHERE ${condition} LIMIT ${READ_LIMIT + 1}) found`

/** The range with the fewest rows; undefined where each has more than may be read. */
const narrowest = async (tx: Transaction, accountId: number, ranges: PrefixRange[]) => {
  const counts = await Promise.all(
    ranges.map(async (range) => {
      const { values, at } = statementValues()
      at(accountId)
      const text = COUNT_RANGE(range.table, inRange(range, at))
      const [row] = await tx.query<{ count: number }>({ text, values })
      return { range, count: row!.count }
    }),
  )
  const [fewest] = counts.sort((a, b) => a.count - b.count)
  return fewest && fewest.count <= READ_LIMIT ? fewest.range : undefined
}

/** The numbers that are left from a cursor on. */
const numbersFrom = ({ numbers: { first, last }, order, cursor }: Scan) => {
  if (cursor === undefined || order.byChange) return { first, last }
  return order.descending
    ? { first, last: Math.min(last, Number(cursor)) }
    : { first: Math.max(first, Number(cursor)), last }
}

/**
 * The condition on leads that have a value, between two numbers, and their order: only the index of the column has it. With an equality
 * all indexes had it, and PostgreSQL, which plans for any value, would walk past all leads by their numbers where nearly all have
 * one value (seen at 10^7 leads: 8 s, then timed out).
 */
const alongIndex = ({ column, value }: Equality, { first, last }: Scan['numbers'], at: At): string => {
  const key = at(value)
  return `${column} IS NOT NULL AND (${column}, l.number) >= (${key}, ${at(first)}) AND (${column}, l.number) <= (${key}, ${at(last)})`
}

// One index finds the leads to read, in the order of the list, and is named by the conditions of WHERE; the
// others only say which of them match. A range of beginnings is read as a whole and sorted. OFFSET 0 keeps PostgreSQL from
// reading the leads first: for an account of a usual size it would.
const statementOf = (scan: Scan, narrow: PrefixRange | undefined) => {
  const { accountId, filters, order, cursor, horizon } = scan
  const { values, at } = statementValues()
  at(accountId)
  const from = narrow
    ? `(SELECT DISTINCT r.number FROM ${narrow.table} r WHERE ${inRange(narrow, at)}) found
      CROSS JOIN LATERAL (SELECT * FROM leads WHERE account_id = $1 AND number = found.number OFFSET 0) l`
    : 'leads l'
  const equalities = equalitiesOf(filters)
  const isTest = testCondition(filters)
  const since = filters.updatedSince === undefined ? [] : [`l.updated_at >= ${at(filters.updatedSince)}`]
  const until = horizon === undefined ? [] : [`l.updated_at < ${at(horizon)}`]
  const { first, last } = numbersFrom(scan)
  const created = () => `l.number BETWEEN ${at(first)} AND ${at(last)}`
  const where = ['l.account_id = $1']
  const matches = prefixRangesOf(filters)
    .filter(({ column, prefix }) => column !== narrow?.column || prefix !== narrow.prefix)
    .map((range) => startsWith(range, at))
  let { columns, orderBy, outerOrderBy } = order
  if (order.byChange) {
    where.push(...until, ...since, ...(cursor === undefined ? [] : [order.from(cursor, at)]))
    matches.push(...isTest, created())
  } else {
    // Test leads have an index in the order of numbers, which is smaller than the others.
    const leadsByTest = filters.test && filters.assignedTo === undefined
    const leading = narrow || leadsByTest ? undefined : equalities.shift()
    if (leading) {
      where.push(alongIndex(leading, { first, last }, at))
      columns = `${leading.column} AS along, ${columns}`
      orderBy = order.behind(leading.column)
      outerOrderBy = order.outerBehind('along')
    } else where.push(created(), ...(leadsByTest && !narrow ? isTest.splice(0) : []))
    matches.push(...isTest, ...until, ...since)
  }
  matches.push(...equalities.map(({ column, value }) => `${column} = ${at(value)}`))
  const text = `
    SELECT ${columns}, ${matches.join(' AND ') || 'true'} AS matches,
      (row_number() OVER (ORDER BY ${orderBy}))::int AS place
    FROM ${from} WHERE ${where.join(' AND ')} ORDER BY ${orderBy} LIMIT ${READ_LIMIT + 1}`
  return { text, outerOrderBy, values, at }
}

// The row after the last one read is not checked: it is where the next page starts.
const SHOWN = `(matches AND place <= ${READ_LIMIT}) OR place > ${READ_LIMIT}`

/**
 * Leads that match, in their order, `limit` at most, out of the first 10,000 that one index finds, and the next position.
 * `total` and `capped` say how many of these match and whether there are more to read.
 */
export const scanLeads = async (
  tx: Transaction,
  scan: Scan,
): Promise<{ numbers: number[]; next: Key | undefined; total: number; capped: boolean }> => {
  const narrow = await narrowest(tx, scan.accountId, prefixRangesOf(scan.filters))
  const { text, outerOrderBy, values, at } = statementOf(scan, narrow)
  const page = `WHERE ${SHOWN} ORDER BY ${outerOrderBy} OFFSET ${at(scan.offset)} LIMIT ${at(scan.limit + 1)}`
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
