import { isInvisible, postcodeWithZero } from '@leadwire/contracts'
import type { ErrorObject } from 'ajv'
import { FORMATS } from './formats'

/**
 * Returns the name of a field in messages: `quotes.0.items.1.image_id` becomes "quotes.0.items.1.image id",
 * as in Laravel 7. A name that consists only of underscores stays as it is.
 */
export const labelField = (field: string): string =>
  isInvisible(field) ? 'field without a name' : field.replace(/(?<=[^_])_(?=[^_])/g, ' ')

/** Returns the message for a field that names an unknown record or value. */
export const describeUnknown = (field: string): string => `The selected ${labelField(field)} is invalid.`

/** The source of an invalid value. `timeZone` is the zone of times without an offset. */
export type ErrorSource = { urlEncoded: boolean; timeZone: string }

/**
 * Returns whether a text would be valid with plus signs in place of its spaces. The client has then sent a
 * plus sign as `+`, although queries and forms must send `%2B`.
 */
const hasLostPlus = (text: string, format: string | undefined, { urlEncoded, timeZone }: ErrorSource) =>
  urlEncoded && text.includes(' ') && FORMATS[format ?? '']?.isValid(text.replaceAll(' ', '+'), timeZone)

/** Returns a sentence about a mistake that the reader cannot see in the value, or an empty string. */
const findHint = ({ data, params }: ErrorObject, source: ErrorSource): string => {
  const { additionalProperty: key } = params as { additionalProperty?: string }
  const text = key ?? data
  if (typeof text !== 'string') return ''
  const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u
    .exec(text)?.[0]
    .codePointAt(0)
    ?.toString(16)
    .toUpperCase()
    .padStart(4, '0')
  if (invisible)
    return ` The ${key === undefined ? 'value' : 'key'} has the invisible character U+${invisible}.`
  const { format } = params as { format?: string }
  if (hasLostPlus(text, format, source)) return ' The "+" arrived as a space. Write it as %2B.'
  const meant = format === 'postcode' && postcodeWithZero(text)
  return meant ? ' The value has the letter O in place of a zero.' : ''
}

const describeType = (label: string, type: string | string[]) => {
  const types = [type].flat().filter((name) => name !== 'null')
  if (types[0] === 'boolean') return `The ${label} field must be true or false.`
  const named = types.map((name) => `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}`)
  return `The ${label} must be ${named.join(' or ')}.`
}

const MESSAGES: Record<string, (label: string, limit: number) => string> = {
  required: (label) => `The ${label} field is required.`,
  maxLength: (label, limit) => `The ${label} may not be greater than ${limit} characters.`,
  minLength: (label, limit) => `The ${label} must be at least ${limit} characters.`,
  minimum: (label, limit) => `The ${label} must be at least ${limit}.`,
  maximum: (label, limit) => `The ${label} may not be greater than ${limit}.`,
  minItems: (label, limit) => `The ${label} must have at least ${limit} ${limit === 1 ? 'item' : 'items'}.`,
  maxItems: (label, limit) => `The ${label} may not have more than ${limit} items.`,
  pattern: (label) => `The ${label} format is invalid.`,
  uniqueItems: (label) => `The ${label} field has a duplicate value.`,
  not: (label) => `The ${label} cannot be set with this token. Leave it out.`,
  minProperties: (label, limit) =>
    `The ${label} must have at least ${limit} ${limit === 1 ? 'field' : 'fields'}.`,
  maxProperties: (label, limit) => `The ${label} may not have more than ${limit} items.`,
}

const LONGEST_KEY = 100

const showKey = (key: string): string => (isInvisible(key) ? JSON.stringify(key) : key.slice(0, LONGEST_KEY))

const describeRule = (
  field: string,
  { keyword, params, propertyName, parentSchema }: ErrorObject,
): string => {
  const label = labelField(field)
  if (keyword === 'additionalProperties') {
    const key = showKey((params as { additionalProperty: string }).additionalProperty)
    const allowed = Object.keys(parentSchema!['properties'])
    return `The key ${key} is not allowed. Allowed keys: ${allowed.join(', ')}.`
  }
  if (propertyName !== undefined)
    return `The ${label} has a key that is not allowed: ${showKey(propertyName)}.`
  const {
    limit = 0,
    type = '',
    format = '',
    allowedValues = [],
  } = params as { limit?: number; type?: string | string[]; format?: string; allowedValues?: unknown[] }
  if (keyword === 'type') return describeType(label, type)
  if (keyword === 'enum')
    return `${describeUnknown(field)} Allowed values: ${allowedValues.filter((value) => value !== null).join(', ')}.`
  if (keyword === 'format') return `The ${label} ${FORMATS[format]?.message ?? 'format is invalid.'}`
  return MESSAGES[keyword]?.(label, limit) ?? `The ${label} is invalid.`
}

/** Returns the message of an Ajv error, in the wording of Laravel 7. */
export const describeError = (field: string, error: ErrorObject, source: ErrorSource): string =>
  describeRule(field, error) + findHint(error, source)
