import { type LeadFilters, LeadListItem, listFields } from '@leadwire/contracts'
import { type SearchWord, type Starts, searchWords } from '../../jobs/search/search-terms'
import { isOpenEntry } from '../../scheduling/is-open-entry'

/** Collects the values of a statement. `at` adds a value, and returns its placeholder. */
export const statementValues = () => {
  const values: unknown[] = []
  return { values, at: (value: unknown) => `$${values.push(value)}` }
}

export type At = ReturnType<typeof statementValues>['at']

/**
 * A filter that selects ranges of an index: by the start of a value, by a search word, or by the date of an
 * open entry. An entry is an appointment or a callback. It is open if it is neither cancelled nor done.
 */
export type RangeFilter =
  | { table: 'leads' | 'lead_attributes'; prefix: string }
  | { table: 'lead_search'; word: SearchWord }
  | EntryFilter

/** `from` is inclusive, `to` is not. */
type EntryFilter = { table: 'entries'; from: string | undefined; to: string | undefined }

/** Lists the filters by range: the attribute, the postcode, the date of an entry, and each word of `q`. */
export const listRangeFilters = (asked: LeadFilters): RangeFilter[] => {
  const { attribute, postcode, dueFrom, dueTo, q = '' } = asked
  const filters = searchWords(q).map((word): RangeFilter => ({ table: 'lead_search', word }))
  if (dueFrom !== undefined || dueTo !== undefined)
    filters.unshift({ table: 'entries', from: dueFrom, to: dueTo })
  if (postcode !== undefined) filters.unshift({ table: 'leads', prefix: postcode })
  if (attribute !== undefined) filters.unshift({ table: 'lead_attributes', prefix: attribute })
  return filters
}

const COLUMNS = { leads: 'postcode COLLATE "C"', lead_search: 'term' }

// The last code point of Unicode. A prefix followed by this code point sorts after all values with the
// prefix.
const LAST = '\u{10ffff}'

/**
 * Returns SQL that selects the rows `r` of the account in $1 whose value starts with `prefix`, as a range of
 * an index. In `lead_attributes`, the term must equal `prefix`. The index then returns the rows in the order
 * of the lead numbers.
 */
export const inRange = (
  table: 'leads' | 'lead_attributes' | 'lead_search',
  prefix: string,
  at: At,
): string => {
  if (table === 'lead_attributes') return `r.account_id = $1 AND r.term = ${at(prefix)}`
  const column = `r.${COLUMNS[table]}`
  return `r.account_id = $1 AND ${column} >= ${at(prefix)} AND ${column} < ${at(prefix + LAST)}`
}

/** Returns the condition that an entry `e` of the account in $1 is open, and in a range of dates. */
const isDue = ({ from, to }: EntryFilter, at: At): string => {
  const conditions = ['e.account_id = $1', isOpenEntry('e')]
  if (from !== undefined) conditions.push(`e.date >= ${at(from)}`)
  if (to !== undefined) conditions.push(`e.date < ${at(to)}`)
  return conditions.join(' AND ')
}

const ENTRY_TABLES = ['appointments', 'callbacks']

// OFFSET 0 makes PostgreSQL look up the lead of each entry. Otherwise PostgreSQL could read all leads of the
// account.
const selectNumbersOfEntries = (table: string, filter: EntryFilter, at: At): string => `
  SELECT r.number FROM ${table} e
  CROSS JOIN LATERAL (SELECT number FROM leads WHERE account_id = $1 AND id = e.lead_id OFFSET 0) r
  WHERE ${isDue(filter, at)}`

const findLongest = (lists: Starts[]): Starts =>
  lists.reduce((longest, starts) => (starts[0]!.length > longest[0]!.length ? starts : longest))

/**
 * Returns SQL that selects the numbers of all leads that may pass a filter, unordered and with repetitions.
 * Each prefix has a separate SELECT, because PostgreSQL would read the whole account for an OR.
 */
export const selectNumbers = (filter: RangeFilter, at: At): string => {
  if (filter.table === 'entries')
    return ENTRY_TABLES.map((table) => selectNumbersOfEntries(table, filter, at)).join(' UNION ALL ')
  const prefixes = filter.table === 'lead_search' ? filter.word.flatMap(findLongest) : [filter.prefix]
  const ranges = prefixes.map(
    (prefix) => `SELECT r.number FROM ${filter.table} r WHERE ${inRange(filter.table, prefix, at)}`,
  )
  return ranges.join(' UNION ALL ')
}

/** Returns whether all leads that `selectNumbers` selects pass the filter. */
export const selectsExactly = (filter: RangeFilter): boolean => {
  // The past entries of an erased lead stay open, but an erased lead does not pass.
  if (filter.table === 'entries') return false
  return filter.table !== 'lead_search' || filter.word.every((lists) => lists.length === 1)
}

// OFFSET 0 makes PostgreSQL check each lead separately. Otherwise PostgreSQL could read the search terms of
// all leads of the account.
const hasTerm = (starts: Starts, at: At): string => `EXISTS (
  SELECT FROM lead_search s WHERE s.account_id = $1 AND s.number = l.number AND s.term ^@ ANY (${at(starts)}::text[]) OFFSET 0)`

// OFFSET 0 makes PostgreSQL check each lead separately. Otherwise PostgreSQL could read all open entries.
const hasEntry = (table: string, filter: EntryFilter, at: At): string =>
  `EXISTS (SELECT FROM ${table} e WHERE e.lead_id = l.id AND ${isDue(filter, at)} OFFSET 0)`

/** Returns the condition that a lead `l` passes a filter. */
export const passes = (filter: RangeFilter, at: At): string => {
  if (filter.table === 'entries') {
    const ways = ENTRY_TABLES.map((table) => hasEntry(table, filter, at))
    return `l.erased_at IS NULL AND (${ways.join(' OR ')})`
  }
  if (filter.table === 'leads') return `starts_with(l.postcode, ${at(filter.prefix)})`
  if (filter.table === 'lead_search') {
    const ways = filter.word.map((lists) => lists.map((starts) => hasTerm(starts, at)).join(' AND '))
    return `(${ways.join(' OR ')})`
  }
  return `EXISTS (
    SELECT FROM lead_attributes r WHERE ${inRange(filter.table, filter.prefix, at)} AND r.number = l.number OFFSET 0)`
}

const CREATED_AT = listFields(LeadListItem).find(({ name }) => name === 'created_at')!.expression!

/** Returns the conditions that a lead `l` was created from `createdFrom` to `createdTo`. */
export const createdInTime = ({ createdFrom, createdTo }: LeadFilters, at: At): string[] => [
  ...(createdFrom === undefined ? [] : [`${CREATED_AT} >= ${at(createdFrom)}`]),
  ...(createdTo === undefined ? [] : [`${CREATED_AT} < ${at(createdTo)}`]),
]

// Must match the condition of the index leads_by_test. Otherwise PostgreSQL cannot use the index.
const IS_TEST = `(l.test OR l.status = 'test')`

/**
 * A filter by the value of a column. The column's index sorts leads with the same value by number. The index
 * has only the leads that meet `indexed`.
 */
export type Equality = { column: string; value: unknown; indexed: string }

/**
 * Lists the filters by equality. The most selective filter normally comes first. The index of unassigned
 * leads has an expression as its column, because a comparison with NULL would not bound a range.
 */
export const listEqualities = ({ assignedTo, unassigned, status, referrer }: LeadFilters): Equality[] =>
  [
    { column: 'l.user_id', value: assignedTo, indexed: 'l.user_id IS NOT NULL' },
    { column: 'coalesce(l.user_id, 0)', value: unassigned ? 0 : undefined, indexed: 'l.user_id IS NULL' },
    { column: 'l.status', value: status, indexed: 'true' },
    { column: 'l.referrer', value: referrer, indexed: 'true' },
  ].filter(({ value }) => value !== undefined)

/**
 * Returns the condition that a lead `l` is or is not a test lead. Only test leads have an index, because
 * most leads are not test leads.
 */
export const testCondition = ({ test }: LeadFilters): string[] =>
  test === undefined ? [] : [test ? IS_TEST : `NOT ${IS_TEST}`]
