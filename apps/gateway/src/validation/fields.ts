import { type TSchema, type TUnsafe, Type } from '@sinclair/typebox'

type Notes = { description?: string; examples?: unknown[]; default?: unknown }

/** Text of at least `minLength` and at most `maxLength` code points. */
export const text = (notes: Notes & { minLength?: number; maxLength?: number; format?: string }) =>
  Type.String({ maxLength: 255, ...notes })

/** A whole number that JSON carries without loss. */
export const integer = (notes: Notes & { minimum?: number; maximum?: number }) =>
  Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...notes })

/** The id of something: 1 and up. */
export const id = (notes: Notes) => integer({ minimum: 1, ...notes })

/** One of some words. */
export const oneOf = <const Words extends readonly string[]>(words: Words, notes: Notes) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: words, ...notes })

/** The same, or null. */
export const nullable = <Schema extends TSchema>(schema: Schema): TUnsafe<Schema['static'] | null> =>
  Type.Unsafe({ ...schema, type: [schema['type'], 'null'] })
