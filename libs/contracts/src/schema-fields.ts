import { type TObject, type TSchema, Type } from '@sinclair/typebox'

// Symbols: JSON Schema documents made from these schemas do not show them.

/** Personal data: an erasure empties the field. */
export const PERSONAL = Symbol('personal')
/** The field is read with this SQL expression of the table's row, and not written. */
export const EXPRESSION = Symbol('expression')
/** The column, where its name is not the field's. */
export const COLUMN = Symbol('column')

/** What a field of a record says beside its type. */
interface Notes {
  description?: string
  examples?: unknown[]
  format?: string
  enum?: readonly string[]
  [PERSONAL]?: true
  [EXPRESSION]?: string
  [COLUMN]?: string
}

/** Text that is always there. */
export const text = (notes: Notes = {}) => Type.Unsafe<string>({ type: 'string', ...notes })

/** A whole number: an id, an amount. */
export const integer = (notes: Notes = {}) => Type.Unsafe<number>({ type: 'integer', ...notes })

export const nullableText = (description: string, notes: Notes = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], examples: [null], ...notes, description })

export const nullableNumber = (type: 'integer' | 'number', description: string) =>
  Type.Unsafe<number | null>({ type: [type, 'null'], description, examples: [null] })

/** A flag as the records of the interface carry it. */
export const flag = (description: string, notes: Pick<Notes, typeof EXPRESSION> = {}) =>
  Type.Unsafe<0 | 1>({ type: 'integer', enum: [0, 1], ...notes, description, examples: [0] })

/** A timestamp as every record carries it. */
export const timestamp = (description: string, notes: Notes = {}) =>
  text({ description, format: 'date-time', examples: ['2026-11-21T09:30:00.123456Z'], ...notes })

/** One field of a record, for what follows from its schema. */
export interface Field {
  name: string
  column: string
  /** The column's type where values are inserted. */
  type: 'bigint' | 'double precision' | 'boolean' | 'timestamptz' | 'uuid' | 'text'
  nullable: boolean
  personal: boolean
  /** SQL to read it with; undefined where that is the column. */
  expression: string | undefined
}

const typeOf = ({ type, format, enum: words }: TSchema): Field['type'] => {
  if (format === 'date-time') return 'timestamptz'
  if (format === 'uuid') return 'uuid'
  if (type === 'integer') return words ? 'boolean' : 'bigint'
  return type === 'number' ? 'double precision' : 'text'
}

/** The fields of a record that are columns of its table, in the record's order. */
export const fieldsOf = (record: TObject): Field[] =>
  Object.entries(record.properties)
    .filter(([, { type }]) => type !== 'object' && type !== 'array')
    .map(([name, schema]) => {
      const types: string[] = [schema['type']].flat()
      const notes = schema as Notes
      return {
        name,
        column: notes[COLUMN] ?? name,
        type: typeOf({ ...schema, type: types[0]! }),
        nullable: types.includes('null'),
        personal: notes[PERSONAL] === true,
        expression: notes[EXPRESSION],
      }
    })

/** The names of all fields of a record and of the records in it. */
export const fieldNames = (schema: TSchema): unknown =>
  schema['type'] === 'array'
    ? fieldNames(schema['items'])
    : Object.entries((schema['properties'] as Record<string, TSchema>) ?? {}).map(([name, field]) => [
        name,
        fieldNames(field),
      ])
