import type { OpenTransaction, Transaction } from '@leadwire/service-kit'

/**
 * Defines a statement, prepared once on each connection under its name: statement<Row>('name')`SELECT … $1`. Parts of SQL may be
 * interpolated, values never: they are the arguments of a call, which resolves to the rows.
 */
export const statement =
  <Row extends object = object>(name: string) =>
  (strings: TemplateStringsArray, ...parts: (string | number | boolean)[]) => {
    const text = String.raw({ raw: strings }, ...parts)
    return Object.assign((tx: Transaction, ...values: unknown[]) => tx.query<Row>({ name, text, values }), {
      /** Sends it without waiting for its rows. */
      send: (tx: OpenTransaction, ...values: unknown[]) => tx.send({ name, text, values }),
    })
  }
