/** A row as PostgreSQL answers with it. */
export type Row = Record<string, unknown>

const columnOf = (field: string) => field.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`)

/**
 * Reads a message out of the columns of a table. Each field but those of `without` has a column of its name in snake case;
 * in a row it is named after the table too, so that rows of joined tables can be told apart. NULL is read as undefined.
 */
export const rowMapper = <Message extends object>(
  type: { fromPartial(fields: object): Message },
  table: string,
  without: (keyof Message)[] = [],
) => {
  const fields = Object.keys(type.fromPartial({})).filter(
    (field) => !without.includes(field as keyof Message),
  )
  const nameOf = (field: string) => `${table}.${field}`
  return {
    /** For SELECT and RETURNING. */
    columns: fields.map((field) => `${table}.${columnOf(field)} AS "${nameOf(field)}"`).join(', '),
    read: (row: Row): Message =>
      type.fromPartial(Object.fromEntries(fields.map((field) => [field, row[nameOf(field)]]))),
  }
}
