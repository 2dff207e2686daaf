import { type ObjectOptions, type TProperties, type TSchema, type TUnsafe, Type } from '@sinclair/typebox'

/** A field without an example is empty in the form on `/docs`. */
export const describe = (description?: string, example?: unknown) => ({
  ...(description !== undefined && { description }),
  ...(example !== undefined && { examples: [example] }),
})

/** Text of at least `minLength` and at most `maxLength` code points. */
export const text = (
  description?: string,
  example?: string,
  rules: { minLength?: number; maxLength?: number; format?: string } = {},
) => Type.String({ maxLength: 255, ...rules, ...describe(description, example) })

/** ISO 8601 with an offset. */
export const instant = (description: string, example = '2026-11-21T09:30:00Z') =>
  text(description, example, { format: 'instant' })

/** A whole number that JSON carries without loss. */
export const integer = (
  description: string,
  example?: number,
  { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = {},
) => Type.Integer({ minimum, maximum, ...describe(description, example) })

export const id = (description: string, example?: number) => integer(description, example, { minimum: 1 })

export const oneOf = <const Words extends readonly string[]>(
  words: Words,
  description?: string,
  example?: Words[number],
) => Type.Unsafe<Words[number]>({ type: 'string', enum: words, ...describe(description, example) })

/** An object whose fields all may be absent. */
export const partial = <Fields extends TProperties>(fields: Fields, options: ObjectOptions = {}) =>
  Type.Partial(Type.Object(fields), options)

/** Fields that may be absent. */
export const optional = <Fields extends TProperties>(fields: Fields) => partial(fields).properties

export const nullable = <Schema extends TSchema>(schema: Schema): TUnsafe<Schema['static'] | null> =>
  Type.Unsafe({ ...schema, type: [schema['type'], 'null'] })
