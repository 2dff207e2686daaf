import type { TSchema } from '@sinclair/typebox'
import { normalPostcode } from './formats'

const BOOLEANS = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ['1', true],
  ['0', false],
])

// Only what is exactly such a value changes: anything else stays as it is, for the check to name.
const convert = (value: unknown, type: string, schema: TSchema): unknown => {
  const text = typeof value === 'string' ? value.trim() : undefined
  switch (type) {
    case 'string':
      if (text === undefined) return value
      return schema['format'] === 'postcode' ? normalPostcode(text) : text
    case 'boolean':
      return BOOLEANS.get(text ?? value) ?? value
    case 'integer':
      return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : value
    case 'number':
      return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : value
    default:
      return value
  }
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '')

const normaliseArray = (schema: TSchema, value: unknown): unknown => {
  if (!Array.isArray(value)) return value
  // One more than allowed is enough to be told so; a million of them would be a million faults.
  const kept = value.slice(0, (schema['maxItems'] ?? Number.MAX_SAFE_INTEGER) + 1)
  return kept.map((item) => normalise(schema['items'], item))
}

const normaliseObject = (schema: TSchema, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // An object without named fields (options) is given back as it came.
  if (!schema['properties']) return value
  const properties = schema['properties'] as Record<string, TSchema>
  const given = value as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (const name in properties) {
    if (!Object.hasOwn(given, name)) continue
    const field = normalise(properties[name]!, given[name])
    if (field !== undefined) fields[name] = field
  }
  return fields
}

/**
 * What a client sent, in the types of a schema, ready to be checked (design: Everywhere). Strings are trimmed, "" is
 * null, null is an absent field (unless the schema knows null), booleans may be 1, 0, "1" and "0", integers may be
 * digits in a string. Only fields of the schema are taken over; what does not fit is left for the check to name.
 */
export const normalise = (schema: TSchema, value: unknown): unknown => {
  const types = schema['type'] as string | string[] | undefined
  if (isEmpty(value)) return types?.includes('null') && value !== undefined ? null : undefined
  const type = (typeof types === 'string' ? types : types?.[0]) ?? ''
  if (type === 'array') return normaliseArray(schema, value)
  if (type === 'object') return normaliseObject(schema, value)
  return convert(value, type, schema)
}
