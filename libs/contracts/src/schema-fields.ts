import { type TObject, type TSchema, Type } from '@sinclair/typebox'

// The keys below are symbols, so that JSON Schema documents made from the schemas do not show them.

/** Marks personal data. An erasure empties the field. */
export const PERSONAL = Symbol('personal')
/**
 * The SQL expression that reads the field from a row of the table. A field with an expression is never
 * written.
 */
export const EXPRESSION = Symbol('expression')
/** The name of the column, if it differs from the name of the field. */
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
  /** The SQL type with which values are inserted. */
  type: 'bigint' | 'double precision' | 'boolean' | 'timestamptz' | 'uuid' | 'text'
  nullable: boolean
  personal: boolean
  /** The SQL expression that reads the field. undefined if the field is read from its column. */
  expression: string | undefined
}

const findColumnType = ({ type, format, enum: words }: TSchema): Field['type'] => {
  if (format === 'date-time') return 'timestamptz'
  if (format === 'uuid') return 'uuid'
  if (type === 'integer') return words ? 'boolean' : 'bigint'
  return type === 'number' ? 'double precision' : 'text'
}

/**
 * Lists the fields of a record that its table has, in the record's order. Leaves out fields that are objects
 * or arrays.
 */
export const listFields = (record: TObject): Field[] =>
  Object.entries(record.properties)
    .filter(([, { type }]) => type !== 'object' && type !== 'array')
    .map(([name, schema]) => {
      const types: string[] = [schema['type']].flat()
      const notes = schema as Notes
      return {
        name,
        column: notes[COLUMN] ?? name,
        type: findColumnType({ ...schema, type: types[0]! }),
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

/** Builds a record from the examples in its schema. Leaves out the fields in `without`, at any depth. */
export const buildExampleRecord = (schema: TSchema, without: string[] = []): unknown => {
  if (schema['type'] === 'array') return [buildExampleRecord(schema['items'], without)]
  if (!schema['properties']) return schema['examples'][0]
  const fields = Object.entries<TSchema>(schema['properties']).filter(([name]) => !without.includes(name))
  return Object.fromEntries(fields.map(([name, field]) => [name, buildExampleRecord(field, without)]))
}
