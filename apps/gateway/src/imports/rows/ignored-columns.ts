import { type IgnoredColumn, isInvisible, LONGEST_NAME, oneLine } from '@leadwire/contracts'
import { suggestField } from './suggest-field'

/**
 * The maximum number of columns. A limit is needed, because the columns are stored again with each batch of
 * rows.
 */
const MAX_COLUMNS = 100

/**
 * Matches what PostgreSQL cannot store: a NUL, or half of a character. Truncating a name may leave half of a
 * character.
 */
const UNSTORABLE = /[\0\p{Surrogate}]/gu

export interface IgnoredColumns {
  add: (name: string) => void
  list: () => IgnoredColumn[]
}

/**
 * Collects unknown columns, or unknown keys of JSON. Adds to each of them the field that its name may mean.
 */
export const collectIgnored = (known: IgnoredColumn[]): IgnoredColumns => {
  const ignored = new Map(known.map((column) => [column.name, column]))
  return {
    add: (given) => {
      const name = oneLine(given.slice(0, LONGEST_NAME).replace(UNSTORABLE, '')).trim()
      if (isInvisible(name) || ignored.has(name) || ignored.size >= MAX_COLUMNS) return
      ignored.set(name, { name, didYouMean: suggestField(name) })
    },
    list: () => [...ignored.values()],
  }
}
