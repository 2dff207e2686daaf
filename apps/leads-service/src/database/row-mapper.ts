import { fieldsOf } from '@leadwire/contracts'
import type { Query, Transaction } from '@leadwire/service-kit'
import type { Static, TObject } from '@sinclair/typebox'

/** A row as PostgreSQL answers with it. */
export type Row = Record<string, unknown>

/** The column of a field. */
export const columnOf = (field: string) => field.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`)

/**
 * Reads a message out of the columns of a table. Each field but those of `without` has a column of its name in snake case;
 * in a row it is named after the table too, so that the columns of joined tables differ. NULL is read as undefined.
 */
export const rowMapper = <Message extends object>(
  type: { fromPartial(fields: object): Message },
  table: string,
  without: (keyof Message)[] = [],
) => {
  const fields = Object.keys(type.fromPartial({})).filter(
    (field) => !without.includes(field as keyof Message),
  )
  // Put together once: a row of eleven fields is then read in a tenth of the time.
  const names = fields.map((field) => ({ field, name: `${table}.${field}` }))
  const read = (row: Row): Message => {
    const message: Row = {}
    for (const { field, name } of names) message[field] = row[name]
    return type.fromPartial(message)
  }
  return {
    /** For SELECT and RETURNING. */
    columns: names.map(({ field, name }) => `${table}.${columnOf(field)} AS "${name}"`).join(', '),
    read,
    /** The messages of a statement that answers with these columns. */
    query: async (db: Transaction, query: Query): Promise<Message[]> =>
      (await db.query<Row>(query)).map(read),
  }
}

/** Reads the columns of a record's fields, but those of `without`; in a row they are named after `as`. */
export const recordMapper = <Schema extends TObject, Without extends keyof Static<Schema> & string = never>(
  schema: Schema,
  table: string,
  { as = table, without = [] }: { as?: string; without?: Without[] } = {},
) => {
  const fields = fieldsOf(schema).filter(({ name }) => !(without as string[]).includes(name))
  const names = fields.map(({ name }) => ({ name, alias: `${as}.${name}` }))
  const sqlOf = ({ column, expression, type }: (typeof fields)[number]) =>
    expression ?? (type === 'boolean' ? `${table}.${column}::int` : `${table}.${column}`)
  return {
    /** For SELECT and RETURNING. */
    columns: fields.map((field) => `${sqlOf(field)} AS "${as}.${field.name}"`).join(', '),
    read: (row: Row): Omit<Static<Schema>, Without> => {
      const record: Row = {}
      for (const { name, alias } of names) record[name] = row[alias]
      return record as Omit<Static<Schema>, Without>
    },
  }
}
