import type { OpenTransaction } from '@leadwire/service-kit'
import { columnOf } from './row-mapper'

type Column<Row> = [column: string, type: string, value: (row: Row) => unknown]

/** Fields of the part of a row that `partOf` picks, each in the column of its name. */
export const fields = <Row, Part>(
  partOf: (row: Row) => Part,
  type: string,
  names: (keyof Part & string)[],
): Column<Row>[] => names.map((name) => [columnOf(name), type, (row) => partOf(row)[name]])

/**
 * A function that inserts any number of rows with one statement, at whose end `onConflict` stands. Nothing is waited for: a
 * failure is the transaction's.
 */
export const inserter = <Row>(table: string, columns: Column<Row>[], onConflict = '') => {
  const names = columns.map(([column]) => column).join(', ')
  const types = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')
  const text = `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${types}) ${onConflict}`
  return (tx: OpenTransaction, rows: Row[]): void => {
    if (rows.length === 0) return
    tx.send({
      name: `insert-${table}`,
      text,
      values: columns.map(([, , value]) => rows.map((row) => value(row) ?? null)),
    })
  }
}
