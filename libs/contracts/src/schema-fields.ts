import { type TObject, type TSchema, Type } from '@sinclair/typebox'

// Symbols: JSON Schema documents made from these schemas do not show them.

/** Personal data: an erasure empties the field. */
export const PERSONAL = Symbol('personal')
/** The field is read with this SQL expression of the table's row, and not written. */
export const EXPRESSION = Symbol('expression')
/** The column, where its name is not the field's. */
export const COLUMN = Symbol('column')

interface Notes {
  description?: string
  examples?: unknown[]
  format?: string
  enum?: readonly string[]
  [PERSONAL]?: true
  [EXPRESSION]?: string
  [COLUMN]?: string
}

export const text = (notes: Notes = {}) => Type.Unsafe<string>({ type: 'string', ...notes })

export const integer = (notes: Notes = {}) => Type.Unsafe<number>({ type: 'integer', ...notes })

export const nullableText = (description: string, notes: Notes = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], examples: [null], ...notes, description })

export const nullableNumber = (type: 'integer' | 'number', description: string) =>
  Type.Unsafe<number | null>({ type: [type, 'null'], description, examples: [null] })

export const flag = (description: string, notes: Pick<Notes, typeof EXPRESSION> = {}) =>
  Type.Unsafe<0 | 1>({ type: 'integer', enum: [0, 1], ...notes, description, examples: [0] })

export const timestamp = (description: string, notes: Notes = {}) =>
  text({ description, format: 'date-time', examples: ['2026-11-21T09:30:00.123456Z'], ...notes })

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

export const fieldNames = (schema: TSchema): unknown =>
  schema['type'] === 'array'
    ? fieldNames(schema['items'])
    : Object.entries((schema['properties'] as Record<string, TSchema>) ?? {}).map(([name, field]) => [
        name,
        fieldNames(field),
      ])

/** A record made of the examples of its schema, without the fields of `without`, at any depth. */
export const exampleOf = (schema: TSchema, without: string[] = []): unknown => {
  if (schema['type'] === 'array') return [exampleOf(schema['items'], without)]
  if (!schema['properties']) return schema['examples'][0]
  const fields = Object.entries<TSchema>(schema['properties']).filter(([name]) => !without.includes(name))
  return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field, without)]))
}
