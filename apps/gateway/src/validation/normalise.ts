import { isInvisible, oneLine } from '@leadwire/contracts'
import type { TSchema } from '@sinclair/typebox'
import { FORMATS } from './formats'

const TRUE: unknown[] = [true, 1, '1', 'true']
const FALSE: unknown[] = [false, 0, '0', 'false']

const textOf = (text: string, { format, enum: words }: TSchema): string => {
  if (words) return text
  return format ? (FORMATS[format]!.normalise?.(text) ?? text) : oneLine(text)
}

/** A form has only text, and no difference between one value and a list of one. */
type Source = 'json' | 'form'

// Only an exact value of the type changes. The check reports others.
const convert = (value: unknown, type: string, schema: TSchema): unknown => {
  const text = typeof value === 'string' ? value.trim() : undefined
  if (type === 'boolean') {
    if (TRUE.includes(text ?? value)) return true
    return FALSE.includes(text ?? value) ? false : value
  }
  if (text === undefined) return value
  if (type === 'string') return textOf(text, schema)
  const isNumber =
    (type === 'integer' && /^-?\d+$/.test(text)) || (type === 'number' && /^-?\d+(\.\d+)?$/.test(text))
  return isNumber ? Number(text) : value
}

export const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && isInvisible(value))

/** One more than allowed is enough for the error; a million would be a million errors. */
const cut = <One>(list: One[], max = Number.MAX_SAFE_INTEGER) => list.slice(0, max + 1)

const normaliseArray = (schema: TSchema, given: unknown, source: Source): unknown => {
  const value = source === 'form' && typeof given === 'string' ? [given] : given
  if (!Array.isArray(value)) return value
  return cut(value, schema['maxItems']).map((item) => normalise(schema['items'], item, source))
}

const normaliseObject = (schema: TSchema, value: unknown, source: Source): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // An object without named fields (options) stays as it is.
  if (!schema['properties']) return Object.fromEntries(cut(Object.entries(value), schema['maxProperties']))
  const properties = schema['properties'] as Record<string, TSchema>
  const given = value as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (const name in properties) {
    if (!Object.hasOwn(given, name)) continue
    const field = normalise(properties[name]!, given[name], source)
    if (field !== undefined) fields[name] = field
  }
  return fields
}

/**
 * A client's value in the types of a schema, ready to be checked (design: Everywhere). An invisible string is null, and null is an
 * absent field, unless the schema has null. Fields that the schema does not have are dropped.
 */
export const normalise = (schema: TSchema, given: unknown, source: Source): unknown => {
  const types = schema['type'] as string | string[] | undefined
  const type = (typeof types === 'string' ? types : types?.[0]) ?? ''
  // The last value of a repeated field counts, as in PHP, unless the field is an array: `notify=0&notify=1`.
  const isRepeated = source === 'form' && type !== 'array' && Array.isArray(given)
  const value = isRepeated && given.every((one) => typeof one === 'string') ? given.at(-1) : given
  if (isEmpty(value)) return types?.includes('null') && value !== undefined ? null : undefined
  if (type === 'array') return normaliseArray(schema, value, source)
  if (type === 'object') return normaliseObject(schema, value, source)
  return convert(value, type, schema)
}
