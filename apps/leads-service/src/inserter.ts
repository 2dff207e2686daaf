import type { OpenTransaction } from '@leadwire/service-kit'
import { columnOf } from './row-mapper'

type Column<Row> = [column: string, type: string, value: (row: Row) => unknown]

/** Rows of one table that are to be inserted. */
export interface Insert {
  table: string
  /** The statement, whose first parameter has the number `first`. */
  textFrom: (first: number) => string
  /** One array for each column; none where there are no rows. */
  values: unknown[][]
}

/** Fields of the part of a row that `partOf` picks, each in the column of its name. */
export const fields = <Row, Part>(
  partOf: (row: Row) => Part,
  type: string,
  names: (keyof Part & string)[],
): Column<Row>[] => names.map((name) => [columnOf(name), type, (row) => partOf(row)[name]])

/** A function that has any number of rows inserted with one statement, at whose end `onConflict` stands. */
export const inserter = <Row>(table: string, columns: Column<Row>[], onConflict = '') => {
  const names = columns.map(([column]) => column).join(', ')
  const textFrom = (first: number) => {
    const types = columns.map(([, type], index) => `$${first + index}::${type}[]`).join(', ')
    return `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${types}) ${onConflict}`
  }
  return (rows: Row[]): Insert => ({
    table,
    textFrom,
    values: rows.length === 0 ? [] : columns.map(([, , value]) => rows.map((row) => value(row) ?? null)),
  })
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
