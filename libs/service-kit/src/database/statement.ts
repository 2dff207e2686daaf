import { ServiceError } from '../errors/service-error'
import type { OpenTransaction, Transaction } from './database'

// Matches the name of a value (`:endpointId`), but no cast (`::int`) and no array slice (`[1:2]`).
const VALUE_NAME = /(?<![:\w]):([a-zA-Z]\w*)/g

/**
 * Replaces each `:name` with `$1`, `$2`, and so on. Also returns the names in the order of their numbers.
 */
const numberValues = (text: string): { text: string; names: string[] } => {
  const names = [...new Set([...text.matchAll(VALUE_NAME)].map((match) => match[1]!))]
  const numbered = text.replace(VALUE_NAME, (_, name: string) => `$${names.indexOf(name) + 1}`)
  return { text: numbered, names }
}

/** Returns the values in the order of their names. Throws a TypeError if a value is missing. */
const orderValues = (statementName: string, names: string[], values: object): unknown[] =>
  names.map((name) => {
    if (!(name in values)) throw new TypeError(`the statement "${statementName}" lacks the value "${name}"`)
    return (values as Record<string, unknown>)[name]
  })

/**
 * Defines a statement, which each connection prepares once under its name. Parts of SQL may be interpolated,
 * but never values. Values have names in the text (`:endpointId`), and a call passes an object with these
 * names. If the text has numbers (`$1`) instead, a call passes the values in this order. A call resolves with
 * the rows. `send` sends the statement without waiting for its rows.
 */
export const statement =
  <Row extends object = object, Values extends object | unknown[] = unknown[]>(name: string) =>
  (strings: TemplateStringsArray, ...parts: (string | number | boolean)[]) => {
    const { text, names } = numberValues(String.raw({ raw: strings }, ...parts))
    type Arguments = Values extends unknown[] ? Values : [Values]
    const toQuery = (given: Arguments) => ({
      name,
      text,
      values: names.length > 0 ? orderValues(name, names, given[0] as object) : given,
    })
    return Object.assign((tx: Transaction, ...given: Arguments) => tx.query<Row>(toQuery(given)), {
      send: (tx: OpenTransaction, ...given: Arguments) => tx.send(toQuery(given)),
    })
  }

/** A column of an insert: its name, its type in PostgreSQL, and how to read its value from a row. */
export type Column<Row> = [name: string, type: string, read: (row: Row) => unknown]

/**
 * Makes the function that inserts rows into a table. The function sends one statement with an array for each
 * column, so that one prepared statement inserts any number of rows. The function does not wait for the
 * result. If the statement fails, its transaction fails. Without rows, the function sends nothing.
 */
export const defineInsert = <Row>(table: string, columns: Column<Row>[], onConflict = '') => {
  const names = columns.map(([name]) => name)
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`)
  const text = `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${arrays}) ${onConflict}`
  return (tx: OpenTransaction, rows: Row[]): void => {
    if (rows.length === 0) return
    const values = columns.map(([, , read]) => rows.map((row) => read(row) ?? null))
    tx.send({ name: `insert-${table}`, text, values })
  }
}

/**
 * Returns one array of values for each key, for a statement that unnests the arrays. A missing value becomes
 * null.
 */
export const splitIntoColumns = <Row, Key extends keyof Row>(
  rows: Row[],
  ...keys: Key[]
): (Row[Key] | null)[][] => keys.map((key) => rows.map((row) => row[key] ?? null))

/**
 * Returns one array of values for each key, as an object with these keys. A statement such as
 * `unnest(:id::uuid[], :claim::int[])` takes the object. A missing value becomes null.
 */
export const columnsByName = <Row, Key extends keyof Row & string>(
  rows: Row[],
  ...keys: Key[]
): Record<Key, (Row[Key] | null)[]> => {
  const columns = keys.map((key) => [key, rows.map((row) => row[key] ?? null)])
  return Object.fromEntries(columns)
}

/** Returns the only row of a statement. Throws `not_found` if there is none. */
export const theRow = <Row>([row]: Row[], what: string): Row => {
  if (!row) throw new ServiceError('not_found', `There is no such ${what}.`)
  return row
}
