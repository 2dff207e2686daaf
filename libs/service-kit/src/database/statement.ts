import { ServiceError } from '../errors/service-error'
import type { OpenTransaction, Transaction } from './database'

/**
 * Defines a statement, prepared once on each connection under its name. Parts of SQL may be interpolated, values never: they are the
 * arguments of a call, which resolves to the rows.
 */
export const statement =
  <Row extends object = object>(name: string) =>
  (strings: TemplateStringsArray, ...parts: (string | number | boolean)[]) => {
    const text = String.raw({ raw: strings }, ...parts)
    return Object.assign((tx: Transaction, ...values: unknown[]) => tx.query<Row>({ name, text, values }), {
      send: (tx: OpenTransaction, ...values: unknown[]) => tx.send({ name, text, values }),
    })
  }

/** Rows as one array for each column, for a statement that unnests them. */
export const columnsOf = <Row, Key extends keyof Row>(rows: Row[], ...keys: Key[]): (Row[Key] | null)[][] =>
  keys.map((key) => rows.map((row) => row[key] ?? null))

/** The only row of a statement. Throws not_found. */
export const theRow = <Row>([row]: Row[], what: string): Row => {
  if (!row) throw new ServiceError('not_found', `There is no such ${what}.`)
  return row
}
