/*
 * The only place where request fields are validated. The fields of a request pass three steps:
 *
 * 1. `listTextErrors` refuses characters that no field may contain. It runs as soon as the body is parsed.
 * 2. `normalise` converts the fields to the types of the schema: it trims texts, treats a text without
 *    visible characters as null, and turns the `"1"` of a form into true.
 * 3. Ajv checks the fields by the schema. Each error becomes a message on its field (`messages.ts`).
 */
import { isInvisible, oneLine } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit/runtime'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { FORMATS } from './formats'
import { describeError, type ErrorSource, labelField } from './messages'

export type UncheckedFields = Record<string, unknown>

/** A well-formed request body with unchecked fields. */
export interface Body {
  fields: UncheckedFields
  /** The source text of a JSON body. Undefined for a form. */
  json?: string
  /** Whether the fields come from a form, a query or a CSV file, where every value is a text. */
  form?: true
  /**
   * Whether the fields come from a query or an application/x-www-form-urlencoded body, where `+` means a
   * space.
   */
  urlEncoded?: true
  /** Errors of strings and keys with characters that no field may contain. */
  errors: FieldErrors
}

/** Merges two sets of errors, field by field. */
export const addErrors = (first: FieldErrors, second: FieldErrors): FieldErrors => {
  const errors = new Map(Object.entries(first))
  for (const [field, messages] of Object.entries(second)) {
    errors.set(field, [...(errors.get(field) ?? []), ...messages])
  }
  return Object.fromEntries(errors)
}

// The limit of PHP. Deeper values would overflow the stack of recursive code such as JSON.stringify.
const MAX_DEPTH = 512
const MAX_FIELDS_WITH_ERRORS = 1000
/**
 * The maximum length of a field's path in errors. A key may be as long as the body, and each error below the
 * key would repeat the key.
 */
const MAX_NAME = 255

const LONE_SURROGATE = /\p{Surrogate}/u

const isRefused = (text: string) => text.includes('\0') || LONE_SURROGATE.test(text)

const hasRefusedText = (key: string, member: unknown): boolean =>
  isRefused(key) || (typeof member === 'string' && isRefused(member))

const joinPath = (path: string, key: string): string => {
  const name = `${path}${key}`
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name
}

/**
 * Lists the fields at any depth, known or not, whose name or value contains a NUL or a lone surrogate. Throws
 * `bad_request` for a body that is nested too deeply.
 */
export const listTextErrors = (fields: UncheckedFields): FieldErrors => {
  const refused = new Set<string>()
  const todo: { value: object; path: string; depth: number }[] = [{ value: fields, path: '', depth: 1 }]
  // Uses a list instead of recursion, because the client decides the depth. Goes on after the maximum number
  // of errors, so that a body that is nested too deeply is always refused.
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { value, path, depth } = next
    if (depth > MAX_DEPTH)
      throw new ServiceError('bad_request', `The body may not be nested deeper than ${MAX_DEPTH} levels.`)
    for (const key in value) {
      const member = (value as UncheckedFields)[key]
      if (typeof member === 'object' && member !== null)
        todo.push({ value: member, path: `${joinPath(path, key)}.`, depth: depth + 1 })
      if (refused.size < MAX_FIELDS_WITH_ERRORS && hasRefusedText(key, member))
        refused.add(joinPath(path, key))
    }
  }
  const errors: FieldErrors = {}
  for (const field of refused)
    errors[field] = [`The ${labelField(field)} contains a NUL or an unpaired surrogate. Remove it.`]
  return errors
}

const TRUE: unknown[] = [true, 1, '1', 'true']
const FALSE: unknown[] = [false, 0, '0', 'false']

const normaliseText = (text: string, { format, enum: words }: TSchema): string => {
  if (words) return text
  return format ? (FORMATS[format]!.normalise?.(text) ?? text) : oneLine(text)
}

/** In a form all values are texts, and a list with one value looks like a single value. */
type Source = 'json' | 'form'

// Converts a value that represents the type exactly. Leaves any other value unchanged, so that the check
// refuses this value.
const convert = (value: unknown, type: string, schema: TSchema): unknown => {
  const text = typeof value === 'string' ? value.trim() : undefined
  if (type === 'boolean') {
    if (TRUE.includes(text ?? value)) return true
    return FALSE.includes(text ?? value) ? false : value
  }
  if (text === undefined) return value
  if (type === 'string') return normaliseText(text, schema)
  const isNumber =
    (type === 'integer' && /^-?\d+$/.test(text)) || (type === 'number' && /^-?\d+(\.\d+)?$/.test(text))
  return isNumber ? Number(text) : value
}

export const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && isInvisible(value))

/**
 * Truncates a list after the first excess element, because a million elements would cause a million errors.
 */
const cut = <One>(list: One[], max = Number.MAX_SAFE_INTEGER) => list.slice(0, max + 1)

const normaliseArray = (schema: TSchema, given: unknown, source: Source): unknown => {
  const value = source === 'form' && typeof given === 'string' ? [given] : given
  if (!Array.isArray(value)) return value
  return cut(value, schema['maxItems']).map((item) => normalise(schema['items'], item, source))
}

/** The maximum number of unknown fields that are reported. 20 fields are enough to show the mistake. */
const MAX_UNKNOWN = 20

/** Returns fields that a schema does not have, at most MAX_UNKNOWN of them. */
const listUnknownFields = (given: UncheckedFields, properties: Record<string, TSchema>) =>
  Object.entries(given)
    .filter(([name]) => !Object.hasOwn(properties, name))
    .slice(0, MAX_UNKNOWN)

const normaliseObject = (schema: TSchema, value: unknown, source: Source): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // The members of an object without named fields, such as `options`, stay as they are.
  if (!schema['properties']) return Object.fromEntries(cut(Object.entries(value), schema['maxProperties']))
  const properties = schema['properties'] as Record<string, TSchema>
  const given = value as UncheckedFields
  const fields: UncheckedFields = {}
  for (const name in properties) {
    if (!Object.hasOwn(given, name)) continue
    const field = normalise(properties[name]!, given[name], source)
    if (field !== undefined) fields[name] = field
  }
  // Keeps unknown fields, so that the check refuses them. If unknown fields of a filter were dropped, the
  // filter would select more than the client meant.
  if (schema['additionalProperties'] === false)
    return { ...fields, ...Object.fromEntries(listUnknownFields(given, properties)) }
  return fields
}

/**
 * Converts a client's value to the types of a schema. An invisible string counts as null. A null counts as an
 * absent field, unless the schema allows null. Drops fields that the schema does not have, unless the schema
 * refuses them (`additionalProperties: false`).
 */
export const normalise = (schema: TSchema, given: unknown, source: Source): unknown => {
  const types = schema['type'] as string | string[] | undefined
  const type = (typeof types === 'string' ? types : types?.[0]) ?? ''
  // If a field is repeated (`notify=0&notify=1`), the last value counts, as in PHP, unless the field is an
  // array.
  const isRepeated = source === 'form' && type !== 'array' && Array.isArray(given)
  const value = isRepeated && given.every((one) => typeof one === 'string') ? given.at(-1) : given
  if (isEmpty(value)) {
    // The form on `/docs` also sends empty fields. An empty object of a form is therefore ignored. An empty
    // `filter`, for example, must not remove the stored filter.
    const isClearing = value !== undefined && !(source === 'form' && type === 'object')
    return types?.includes('null') && isClearing ? null : undefined
  }
  if (type === 'array') return normaliseArray(schema, value, source)
  if (type === 'object') return normaliseObject(schema, value, source)
  return convert(value, type, schema)
}

const findPath = ({ instancePath, keyword, params }: ErrorObject): string => {
  const parts = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') parts.push((params as { missingProperty: string }).missingProperty)
  if (keyword === 'additionalProperties')
    parts.push((params as { additionalProperty: string }).additionalProperty)
  return parts.reduce((path, part) => joinPath(path && `${path}.`, part), '')
}

const groupErrors = (found: ErrorObject[], source: ErrorSource): FieldErrors => {
  const byField = new Map<string, ErrorObject[]>()
  for (const error of found) {
    // Skips this error, because the error of the key itself gives the reason.
    if (error.keyword === 'propertyNames') continue
    const field = findPath(error)
    const known = byField.get(field)
    if (known) known.push(error)
    else if (byField.size < MAX_FIELDS_WITH_ERRORS) byField.set(field, [error])
  }
  return Object.fromEntries(
    [...byField].map(([field, errors]) => {
      // A value of the wrong type breaks other rules too, but reporting them would not help the client.
      const wrongType = errors.filter(({ keyword }) => keyword === 'type')
      const reported = wrongType.length > 0 ? wrongType : errors
      return [field, [...new Set(reported.map((error) => describeError(field, error, source)))]]
    }),
  )
}

/** The value in the types of the schema, or all errors with the normalised fields. */
export type Checked<T> =
  | { value: T; errors?: undefined; fields?: undefined }
  | { value?: undefined; errors: FieldErrors; fields: UncheckedFields }

/** Lists the errors of fields that depend on each other. The fields are normalised, and may be invalid. */
export type ListErrors = (fields: UncheckedFields) => FieldErrors

export type CreateCheck = <Schema extends TObject>(
  schema: Schema,
  listErrors?: ListErrors,
) => (body: Body) => Checked<Static<Schema>>

/**
 * Returns a function that turns TypeBox schemas into checks of request fields. The types and the OpenAPI
 * document come from the same schemas. `timeZone` is the zone of times without an offset.
 */
export const createChecks = (timeZone: string): CreateCheck => {
  const ajv = new Ajv({
    allErrors: true,
    coerceTypes: false,
    allowUnionTypes: true,
    // Includes the value in each error, for hints.
    verbose: true,
    formats: Object.fromEntries(
      Object.entries(FORMATS).map(([name, { isValid }]) => [name, (text: string) => isValid(text, timeZone)]),
    ),
  })
  return (schema, listErrors = () => ({})) => {
    // Compiles a schema when its first request arrives, because compiling the schemas of all operations would
    // take half of the gateway's start-up time.
    let validate: ValidateFunction | undefined
    return (body) => {
      validate ??= ajv.compile(schema)
      const fields = normalise(schema, body.fields, body.form ? 'form' : 'json') as UncheckedFields
      const isValid = validate(fields)
      const source = { urlEncoded: body.urlEncoded ?? false, timeZone }
      const schemaErrors = isValid ? {} : groupErrors(validate.errors!, source)
      const errors = [schemaErrors, listErrors(fields)].reduce(addErrors, body.errors)
      if (Object.keys(errors).length > 0) return { errors, fields }
      return { value: fields as Static<typeof schema> }
    }
  }
}
