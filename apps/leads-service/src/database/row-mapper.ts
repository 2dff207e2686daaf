import { fieldsOf, snakeCase } from '@leadwire/contracts'
import type { Query, Transaction } from '@leadwire/service-kit'
import type { Static, TObject } from '@sinclair/typebox'

/** A row as PostgreSQL answers with it. */
export type Row = Record<string, unknown>

/** Reads fields out of a row, in which they are named after `as`, so that the columns of joined tables differ. */
const mapper = (as: string, fields: [name: string, sql: string][]) => {
  // Put together once: a row of eleven fields is then read in a tenth of the time.
  const names = fields.map(([name]) => ({ name, alias: `${as}.${name}` }))
  return {
    /** For SELECT and RETURNING. */
    columns: fields.map(([name, sql]) => `${sql} AS "${as}.${name}"`).join(', '),
    read: (row: Row): Row => {
      const record: Row = {}
      for (const { name, alias } of names) record[name] = row[alias]
      return record
    },
  }
}

/** Reads a message out of the columns of a table: those of its fields' names in snake case. NULL is read as undefined. */
export const rowMapper = <Message extends object>(
  type: { fromPartial(fields: object): Message },
  table: string,
) => {
  const fields = Object.keys(type.fromPartial({}))
  const { columns, read } = mapper(
    table,
    fields.map((field) => [field, `${table}.${snakeCase(field)}`]),
  )
  return {
    columns,
    /** The messages of a statement that answers with these columns. */
    query: async (db: Transaction, query: Query): Promise<Message[]> =>
      (await db.query<Row>(query)).map((row) => type.fromPartial(read(row))),
  }
}

/** Reads the columns of a record's fields, but those of `without`. */
export const recordMapper = <Schema extends TObject, Without extends keyof Static<Schema> & string = never>(
  schema: Schema,
  table: string,
  { as = table, without = [] }: { as?: string; without?: Without[] } = {},
) => {
  const sqlOf = ({ column, expression, type }: ReturnType<typeof fieldsOf>[number]) =>
    expression ?? (type === 'boolean' ? `${table}.${column}::int` : `${table}.${column}`)
  const fields = fieldsOf(schema).filter(({ name }) => !(without as string[]).includes(name))
  const { columns, read } = mapper(
    as,
    fields.map((field) => [field.name, sqlOf(field)]),
  )
  return { columns, read: read as (row: Row) => Omit<Static<Schema>, Without> }
}
