import type { LeadFilters } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { isInstant } from '../../arguments'
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

export const SORTS = ['-created_at', 'created_at', '-updated_at', 'updated_at']

type Key = { number: number; updated_at?: string }

const NUMBER = /^[1-9]\d{0,14}$/

/** How a list is sorted, and how a cursor names the next lead. */
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
    cursorOf: (key: Key): string => columns.map((column) => key[column]).join(','),
    /** The condition on a lead, as `l`, to be at a cursor or behind it. */
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
  /** The numbers of the leads created between `createdFrom` and `createdTo`. */
  numbers: { first: number; last: number }
  /** Changes from here on are not shown yet, in a list that is about changes. */
  horizon: string | undefined
  order: ReturnType<typeof leadOrder>
  cursor?: string | undefined
  /** How many matches to leave out, and how many to answer with at most. */
  offset?: number
  limit: number
  /** Whether to count the matches: all that may be read is then read. */
  counted?: boolean
}

type ScannedRow = Key & { place: number; total: number | null; read: number | null }

/** The range with the fewest rows; undefined where each has more than may be read. */
const narrowest = async (tx: Transaction, accountId: number, ranges: PrefixRange[]) => {
  const counts = await Promise.all(
    ranges.map(async (range) => {
      const { values, at } = statementValues()
      at(accountId)
      const text = `SELECT count(*)::int
        FROM (SELECT FROM ${range.table} r WHERE ${inRange(range, at)} LIMIT ${READ_LIMIT + 1}) found`
      const [row] = await tx.query<{ count: number }>({ text, values })
      return { range, count: row!.count }
    }),
  )
  const [fewest] = counts.sort((a, b) => a.count - b.count)
  return fewest && fewest.count <= READ_LIMIT ? fewest.range : undefined
}

const numbersFrom = ({ numbers: { first, last }, order, cursor }: Scan) => {
  const place = order.byChange || cursor === undefined ? undefined : Number(cursor)
  return order.descending
    ? { first, last: Math.min(last, place ?? last) }
    : { first: Math.max(first, place ?? first), last }
}

/**
 * The condition on leads that have a value, between two numbers. Only the index of the column has the order. With an equality all
 * indexes had it: where nearly all leads have one value, PostgreSQL walked past all of them (10^7 leads: 8 s, then timed out).
 */
const alongIndex = ({ column, value }: Equality, { first, last }: Scan['numbers'], at: At): string => {
  const key = at(value)
  return `${column} IS NOT NULL AND (${column}, l.number) >= (${key}, ${at(first)}) AND (${column}, l.number) <= (${key}, ${at(last)})`
}

// WHERE names the one index that finds the leads to read, in the order of the list; the other conditions say which of them match.
// A prefix's range is read as a whole and sorted. OFFSET 0 keeps PostgreSQL from reading the leads first.
const statementOf = (scan: Scan, ranges: PrefixRange[], narrow: PrefixRange | undefined) => {
  const { accountId, filters, order, cursor, horizon } = scan
  const { values, at } = statementValues()
  at(accountId)
  const { first, last } = numbersFrom(scan)
  // Leads with an attribute are read in the order of their numbers, however many there are.
  const attribute = order.byChange ? undefined : ranges.find(({ table }) => table === 'lead_attributes')
  const range = narrow ?? attribute
  const read = narrow
    ? `SELECT DISTINCT r.number FROM ${narrow.table} r WHERE ${inRange(narrow, at)}`
    : attribute &&
      `SELECT r.number FROM lead_attributes r
        WHERE ${inRange(attribute, at)} AND r.number BETWEEN ${at(first)} AND ${at(last)}
        ORDER BY r.number ${order.descending ? 'DESC' : 'ASC'} LIMIT ${READ_LIMIT + 1}`
  const from = read
    ? `(${read}) found
      CROSS JOIN LATERAL (SELECT * FROM leads WHERE account_id = $1 AND number = found.number OFFSET 0) l`
    : 'leads l'
  const equalities = equalitiesOf(filters)
  const isTest = testCondition(filters)
  const since = filters.updatedSince === undefined ? [] : [`l.updated_at >= ${at(filters.updatedSince)}`]
  const until = horizon === undefined ? [] : [`l.updated_at < ${at(horizon)}`]
  const created = () => `l.number BETWEEN ${at(first)} AND ${at(last)}`
  const where = ['l.account_id = $1']
  const matches = ranges.filter((other) => other !== range).map((other) => startsWith(other, at))
  // By what the index has, so that nothing is sorted, here and in the statement around it.
  const keys = order.columns.map((name) => ({
    name: name as string,
    column: read && !narrow ? 'found.number' : `l.${name}`,
  }))
  if (order.byChange) {
    where.push(...until, ...since, ...(cursor === undefined ? [] : [order.from(cursor, at)]))
    matches.push(...isTest, created())
  } else {
    // Test leads have an index in the order of numbers, which is smaller than the others.
    const leadsByTest = filters.test && filters.assignedTo === undefined
    const leading = range || leadsByTest ? undefined : equalities.shift()
    if (leading) {
      where.push(alongIndex(leading, { first, last }, at))
      keys.unshift({ name: 'along', column: leading.column })
    } else where.push(created(), ...(leadsByTest && !range ? isTest.splice(0) : []))
    matches.push(...isTest, ...until, ...since)
  }
  matches.push(...equalities.map(({ column, value }) => `${column} = ${at(value)}`))
  const sorted = (by: 'name' | 'column') =>
    keys.map((key) => `${key[by]} ${order.descending ? 'DESC' : 'ASC'}`).join(', ')
  const orderBy = sorted('column')
  const text = `
    SELECT ${keys.map(({ name, column }) => `${column} AS ${name}`)}, ${matches.join(' AND ') || 'true'} AS matches,
      (row_number() OVER (ORDER BY ${orderBy}))::int AS place
    FROM ${from} WHERE ${where.join(' AND ')} ORDER BY ${orderBy} LIMIT ${READ_LIMIT + 1}`
  return { text, outerOrderBy: sorted('name'), values, at }
}

// The row after the last one read is not checked: it is where the next page starts.
const SHOWN = `(matches AND place <= ${READ_LIMIT}) OR place > ${READ_LIMIT}`

/**
 * The leads that match out of the first 10,000 that one index finds, `limit` at most, and the next position. `total` and `capped`
 * say how many of the 10,000 match, and whether there are more to read.
 */
export const scanLeads = async (
  tx: Transaction,
  scan: Scan,
): Promise<{ numbers: number[]; next: Key | undefined; total: number; capped: boolean }> => {
  const ranges = prefixRangesOf(scan.filters)
  const narrow = await narrowest(tx, scan.accountId, ranges)
  const { text, outerOrderBy, values, at } = statementOf(scan, ranges, narrow)
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
