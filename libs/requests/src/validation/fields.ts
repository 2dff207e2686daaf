import { type ObjectOptions, type TProperties, type TSchema, type TUnsafe, Type } from '@sinclair/typebox'

/**
 * Returns the documentation of a field. The form on `/docs` shows the example as the value of the field.
 * Without an example, the field is empty.
 */
export const describe = (description?: string, example?: unknown) => ({
  ...(description !== undefined && { description }),
  ...(example !== undefined && { examples: [example] }),
})

/** Makes the schema of a text. `minLength` and `maxLength` count code points. */
export const text = (
  description?: string,
  example?: string,
  rules: { minLength?: number; maxLength?: number; format?: string } = {},
) => Type.String({ maxLength: 255, ...rules, ...describe(description, example) })

/** Makes the schema of a time in ISO 8601 with an offset. */
export const instant = (description: string, example = '2026-11-21T09:30:00Z') =>
  text(description, example, { format: 'instant' })

/** Makes the schema of a date without a time, such as 2026-11-21. */
export const date = (description: string, example = '2026-11-21') =>
  text(description, example, { format: 'date' })

/** Makes the schema of a whole number that JSON carries without loss. */
export const integer = (
  description: string,
  example?: number,
  { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = {},
) => Type.Integer({ minimum, maximum, ...describe(description, example) })

export const id = (description: string, example?: number) => integer(description, example, { minimum: 1 })

/** Makes the schema of a text that is one of `words`. */
export const enumeration = <const Words extends readonly string[]>(
  words: Words,
  description?: string,
  example?: Words[number],
) => Type.Unsafe<Words[number]>({ type: 'string', enum: words, ...describe(description, example) })

/** Makes an `enumeration` that becomes a component of the OpenAPI document, named by its title. */
export const namedWord = <const Words extends readonly string[]>(title: string, words: Words) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: words, title })

/** Makes the schema of an object whose fields are all optional. */
export const partial = <Fields extends TProperties>(fields: Fields, options: ObjectOptions = {}) =>
  Type.Partial(Type.Object(fields), options)

/** Makes fields optional. */
export const optional = <Fields extends TProperties>(fields: Fields) => partial(fields).properties

export const nullable = <Schema extends TSchema>(schema: Schema): TUnsafe<Schema['static'] | null> =>
  Type.Unsafe({ ...schema, type: [schema['type'], 'null'] })
