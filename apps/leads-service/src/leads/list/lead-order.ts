import { isInstant } from '../../arguments'
import type { At } from './lead-filters'

/** The orders of the list of leads. Numbers rise with created_at. */
export const SORTS = ['-created_at', 'created_at', '-updated_at', 'updated_at']

/** What a place in the list is named by. */
export interface Key {
  number: number
  updated_at?: string
}

const NUMBER = /^[1-9]\d{0,14}$/

/** How a list is sorted, and how a cursor names the next lead. Leads are `l`. */
export const leadOrder = (sort: string) => {
  const byChange = sort.endsWith('updated_at')
  const [direction, beyond] = sort.startsWith('-') ? ['DESC', '<='] : ['ASC', '>=']
  const names = byChange ? ['updated_at', 'number'] : ['number']
  const columns = names.map((name) => `l.${name}`)
  const sorted = (by: string[]) => by.map((column) => `${column} ${direction}`).join(', ')
  const parse = (cursor: string): (string | undefined)[] =>
    byChange ? cursor.split(',') : [undefined, cursor]
  return {
    byChange,
    descending: direction === 'DESC',
    columns: columns.join(', '),
    orderBy: sorted(columns),
    /** The order of leads with one value in a column, written so that only an index on both has it. */
    behind: (column: string) => sorted([column, ...columns]),
    /** The same for a statement around it. */
    outerOrderBy: sorted(names),
    outerBehind: (column: string) => sorted([column, ...names]),
    isCursor: (cursor: string): boolean => {
      const [changed, number = '', ...rest] = parse(cursor)
      return NUMBER.test(number) && rest.length === 0 && (!byChange || isInstant(changed ?? ''))
    },
    cursorOf: ({ number, updated_at: changed }: Key): string =>
      byChange ? `${changed},${number}` : `${number}`,
    /** The condition on a lead to be at a cursor or behind it. */
    from: (cursor: string, at: At): string => {
      const places = parse(cursor)
        .filter((value) => value !== undefined)
        .map((value) => at(value))
      return `(${columns.join(', ')}) ${beyond} (${places.join(', ')})`
    },
  }
}

export type LeadOrder = ReturnType<typeof leadOrder>
