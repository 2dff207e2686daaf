import { type LeadFilters, LeadListItem, listFields } from '@leadwire/contracts'
import { type SearchWord, type Starts, searchWords } from '../../jobs/search/search-terms'

/** Collects the values of a statement. `at` adds a value, and returns its placeholder. */
export const statementValues = () => {
  const values: unknown[] = []
  return { values, at: (value: unknown) => `$${values.push(value)}` }
}

export type At = ReturnType<typeof statementValues>['at']

/** A filter by the start of a value, or by a search word. */
export type PrefixFilter =
  | { table: 'leads' | 'lead_attributes'; prefix: string }
  | { table: 'lead_search'; word: SearchWord }

/** Lists the filters by prefix: the attribute, the postcode, and each word of `q`. */
export const listPrefixFilters = ({ attribute, postcode, q = '' }: LeadFilters): PrefixFilter[] => {
  const filters = searchWords(q).map((word): PrefixFilter => ({ table: 'lead_search', word }))
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
export const inRange = (table: PrefixFilter['table'], prefix: string, at: At): string => {
  if (table === 'lead_attributes') return `r.account_id = $1 AND r.term = ${at(prefix)}`
  const column = `r.${COLUMNS[table]}`
  return `r.account_id = $1 AND ${column} >= ${at(prefix)} AND ${column} < ${at(prefix + LAST)}`
}

const findLongest = (lists: Starts[]): Starts =>
  lists.reduce((longest, starts) => (starts[0]!.length > longest[0]!.length ? starts : longest))

/**
 * Returns SQL that selects the numbers of all leads that may pass a filter, unordered and with repetitions.
 * Each prefix has a separate SELECT, because PostgreSQL would read the whole account for an OR.
 */
export const selectNumbers = (filter: PrefixFilter, at: At): string => {
  const prefixes = filter.table === 'lead_search' ? filter.word.flatMap(findLongest) : [filter.prefix]
  const ranges = prefixes.map(
    (prefix) => `SELECT r.number FROM ${filter.table} r WHERE ${inRange(filter.table, prefix, at)}`,
  )
  return ranges.join(' UNION ALL ')
}

/** Returns whether all leads that `selectNumbers` selects pass the filter. */
export const selectsExactly = (filter: PrefixFilter): boolean =>
  filter.table !== 'lead_search' || filter.word.every((lists) => lists.length === 1)

// OFFSET 0 makes PostgreSQL check each lead separately. Otherwise PostgreSQL could read the search terms of
// all leads of the account.
const hasTerm = (starts: Starts, at: At): string => `EXISTS (
  SELECT FROM lead_search s WHERE s.account_id = $1 AND s.number = l.number AND s.term ^@ ANY (${at(starts)}::text[]) OFFSET 0)`

/** Returns the condition that a lead `l` passes a filter. */
export const passes = (filter: PrefixFilter, at: At): string => {
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

/** A filter by the value of a column. The column's index sorts leads with the same value by number. */
export type Equality = { column: string; value: unknown }

/** Lists the filters by equality. The most selective filter normally comes first. */
export const listEqualities = ({ assignedTo, status, referrer }: LeadFilters): Equality[] =>
  [
    { column: 'l.user_id', value: assignedTo },
    { column: 'l.status', value: status },
    { column: 'l.referrer', value: referrer },
  ].filter(({ value }) => value !== undefined)

/**
 * Returns the condition that a lead `l` is or is not a test lead. Only test leads have an index, because
 * most leads are not test leads.
 */
export const testCondition = ({ test }: LeadFilters): string[] =>
  test === undefined ? [] : [test ? IS_TEST : `NOT ${IS_TEST}`]
