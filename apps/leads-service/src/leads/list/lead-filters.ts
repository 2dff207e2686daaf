import type { LeadFilters } from '@leadwire/contracts'
import { searchWords } from '../../jobs/search/search-terms'

/** The values of a statement, and the place that each has in it. */
export const statementValues = () => {
  const values: unknown[] = []
  return { values, at: (value: unknown) => `$${values.push(value)}` }
}

export type At = ReturnType<typeof statementValues>['at']

const COLUMNS = { leads: 'postcode COLLATE "C"', lead_search: 'term', lead_attributes: 'term' }

/**
 * The numbers of the leads with a value that starts with `prefix`, in no order: a range of an index. A term of `lead_attributes`
 * is the whole value, so that its range is in the order of numbers.
 */
export type PrefixRange = { table: keyof typeof COLUMNS; prefix: string }

// No character is behind this one.
const LAST = '\u{10ffff}'

/** The condition on rows of a range's table, as `r`, of the account in $1. */
export const inRange = ({ table, prefix }: PrefixRange, at: At): string => {
  const column = `r.${COLUMNS[table]}`
  return table === 'lead_attributes'
    ? `r.account_id = $1 AND ${column} = ${at(prefix)}`
    : `r.account_id = $1 AND ${column} >= ${at(prefix)} AND ${column} < ${at(prefix + LAST)}`
}

/** Filters by prefix: the attribute, the postcode, and each word of `q`. */
export const prefixRangesOf = ({ attribute, postcode, q = '' }: LeadFilters): PrefixRange[] => {
  const ranges = searchWords(q).map((prefix): PrefixRange => ({ table: 'lead_search', prefix }))
  if (postcode !== undefined) ranges.unshift({ table: 'leads', prefix: postcode })
  if (attribute !== undefined) ranges.unshift({ table: 'lead_attributes', prefix: attribute })
  return ranges
}

/** The same condition on a lead, as `l`. OFFSET 0 keeps PostgreSQL from reading the words of all leads of the account. */
export const startsWith = (range: PrefixRange, at: At): string => {
  if (range.table === 'leads') return `starts_with(l.postcode, ${at(range.prefix)})`
  return range.table === 'lead_attributes'
    ? `EXISTS (SELECT FROM lead_attributes r WHERE ${inRange(range, at)} AND r.number = l.number OFFSET 0)`
    : `EXISTS (SELECT FROM lead_search s
        WHERE s.account_id = $1 AND s.number = l.number AND starts_with(s.term, ${at(range.prefix)}) OFFSET 0)`
}

// The text is that of the condition of its index.
const IS_TEST = `(l.test OR l.status = 'test')`

/** A column with an index of its own, in the order of numbers, and the wanted value. */
export type Equality = { column: string; value: unknown }

/** Those that fewer leads fulfil come first. */
export const equalitiesOf = ({ assignedTo, status, referrer }: LeadFilters): Equality[] =>
  [
    { column: 'l.user_id', value: assignedTo },
    { column: 'l.status', value: status },
    { column: 'l.referrer', value: referrer },
  ].filter(({ value }) => value !== undefined)

/** The condition on a lead, as `l`, to be for a test or not. Most leads are not: for them the list is read, as for two filters. */
export const testCondition = ({ test }: LeadFilters): string[] =>
  test === undefined ? [] : [test ? IS_TEST : `NOT ${IS_TEST}`]
