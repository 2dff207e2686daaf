import { fieldsOf } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import type { TObject } from '@sinclair/typebox'

type Column<Row> = [column: string, type: string, value: (row: Row) => unknown]

/** Rows of one table that are to be inserted. */
export interface Insert {
  table: string
  /** The statement, whose first parameter has the number `first`. */
  textFrom: (first: number) => string
  /** The parameters; none where there are no rows. */
  values: unknown[]
}

/** The columns of the fields of a record that `recordOf` picks from a row. */
export const columnsOf = <Row>(schema: TObject, recordOf: (row: Row) => object): Column<Row>[] =>
  fieldsOf(schema)
    .filter(({ expression }) => expression === undefined)
    .map(({ name, column, type }) => [
      column,
      type,
      (row) => (recordOf(row) as Record<string, unknown>)[name],
    ])

/** Values that travel as one parameter, with where each starts and how long it is: arrays of them are written and read as text. */
const PACKED: Record<string, (bytes: string) => string> = {
  bytea: (bytes) => bytes,
  'long text': (bytes) => `convert_from(${bytes}, 'UTF8')`,
}

const pack = (values: unknown[]): [Buffer, (number | null)[], (number | null)[]] => {
  const parts = values.map((value) =>
    typeof value === 'string' ? Buffer.from(value) : (value as Buffer | null),
  )
  let next = 1
  const starts = parts.map((part) => {
    if (part === null) return null
    next += part.length
    return next - part.length
  })
  const bytes = Buffer.concat(parts.filter((part) => part !== null))
  return [bytes, starts, parts.map((part) => part?.length ?? null)]
}

/** A function that inserts any number of rows with one statement, which ends with `onConflict`. */
export const inserter = <Row>(table: string, columns: Column<Row>[], onConflict = '') => {
  const names = columns.map(([column]) => column).join(', ')
  const textFrom = (first: number) => {
    let next = first
    const arrays: string[] = []
    const array = (name: string, type: string) => {
      arrays.push(name)
      return `$${next++}::${type}[]`
    }
    const from: string[] = []
    const selected = columns.map(([column, type]) => {
      const unpacked = PACKED[type]
      if (!unpacked) {
        from.push(array(column, type))
        return column
      }
      const bytes = `$${next++}::bytea`
      from.push(array(`${column}_start`, 'int'), array(`${column}_length`, 'int'))
      return unpacked(`substring(${bytes} FROM ${column}_start FOR ${column}_length)`)
    })
    return `INSERT INTO ${table} (${names}) SELECT ${selected.join(', ')}
      FROM unnest(${from.join(', ')}) AS given (${arrays.join(', ')}) ${onConflict}`
  }
  const valuesOf = (rows: Row[]) =>
    columns.flatMap(([, type, value]) => {
      const values = rows.map((row) => value(row) ?? null)
      return PACKED[type] ? pack(values) : [values]
    })
  return (rows: Row[]): Insert => ({ table, textFrom, values: rows.length === 0 ? [] : valuesOf(rows) })
}

const texts = new Map<string, string>()

const textOf = (inserts: Insert[]): string => {
  let first = 1
  const parts = inserts.map(({ textFrom, values }) => {
    const text = textFrom(first)
    first += values.length
    return text
  })
  const last = parts.pop()!
  return parts.length === 0
    ? last
    : `WITH ${parts.map((text, at) => `part_${at} AS (${text})`).join(', ')} ${last}`
}

/**
 * Inserts rows of several tables with one statement: each statement costs both ends a wake-up. PostgreSQL checks the references
 * between them at its end. Nothing is waited for: a failure is the transaction's.
 */
export const insertTogether = (tx: OpenTransaction, inserts: Insert[]): void => {
  const some = inserts.filter(({ values }) => values.length > 0)
  if (some.length === 0) return
  const name = `insert-${some.map(({ table }) => table).join('-')}`
  const text = texts.get(name) ?? textOf(some)
  texts.set(name, text)
  tx.send({ name, text, values: some.flatMap(({ values }) => values) })
}
