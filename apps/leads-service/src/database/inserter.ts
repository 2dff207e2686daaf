import { fieldsOf } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import type { TObject } from '@sinclair/typebox'

type Column<Row> = [column: string, type: string, value: (row: Row) => unknown]

/** Rows of one table that are to be inserted. `text` takes the next parameter's place from `place`; without rows there are no values. */
export interface Insert {
  name: string
  text: (place: () => string) => string
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

const pack = (values: unknown[]): unknown[] => {
  const parts = values.map((value) =>
    typeof value === 'string' ? Buffer.from(value) : (value as Buffer | null),
  )
  let next = 1
  const starts = parts.map((part) => {
    const start = next
    next += part?.length ?? 0
    return start
  })
  return [
    Buffer.concat(parts.filter((part) => part !== null)),
    starts,
    parts.map((part) => part?.length ?? null),
  ]
}

/** A function that inserts any number of rows with one statement, which ends with `onConflict`. */
export const inserter = <Row>(table: string, columns: Column<Row>[], onConflict = '', name = table) => {
  const text = (place: () => string) => {
    const names: string[] = []
    const arrays: string[] = []
    const array = (name: string, type: string): string => {
      names.push(name)
      arrays.push(`${place()}::${type}[]`)
      return name
    }
    const selected = columns.map(([column, type]) => {
      const unpacked = PACKED[type]
      if (!unpacked) return array(column, type)
      const [bytes, start, length] = [
        place(),
        array(`${column}_start`, 'int'),
        array(`${column}_length`, 'int'),
      ]
      return unpacked(`substring(${bytes}::bytea FROM ${start} FOR ${length})`)
    })
    return `INSERT INTO ${table} (${columns.map(([column]) => column)}) SELECT ${selected}
      FROM unnest(${arrays}) AS given (${names}) ${onConflict}`
  }
  const valuesOf = (rows: Row[]) =>
    columns.flatMap(([, type, value]) => {
      const values = rows.map((row) => value(row) ?? null)
      return PACKED[type] ? pack(values) : [values]
    })
  return (rows: Row[]): Insert => ({ name, text, values: rows.length === 0 ? [] : valuesOf(rows) })
}

const texts = new Map<string, string>()

const textOf = (inserts: Insert[]): string => {
  let places = 0
  const parts = inserts.map(({ text }) => text(() => `$${++places}`))
  const last = parts.pop()!
  const others = parts.map((text, at) => `part_${at} AS (${text})`)
  return others.length === 0 ? last : `WITH ${others} ${last}`
}

/**
 * Inserts rows of several tables with one statement, at whose end PostgreSQL checks the references between them. Nothing is waited
 * for: a failure is the transaction's.
 */
export const insertTogether = (tx: OpenTransaction, inserts: Insert[]): void => {
  const some = inserts.filter(({ values }) => values.length > 0)
  if (some.length === 0) return
  const name = `insert-${some.map((insert) => insert.name).join('-')}`
  const text = texts.get(name) ?? textOf(some)
  texts.set(name, text)
  tx.send({ name, text, values: some.flatMap(({ values }) => values) })
}
