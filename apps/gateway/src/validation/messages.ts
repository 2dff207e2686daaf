import { postcodeWithZero } from '@leadwire/contracts'
import type { ErrorObject } from 'ajv'
import { FORMATS } from './formats'

/** `quotes.0.items.1.image_id` is named "quotes.0.items.1.image id", as in Laravel 7. A field may be all underscores. */
export const labelOf = (field: string): string => field.replace(/(?<=[^_])_(?=[^_])/g, ' ')

/** The message for a field that names a missing record. */
export const selectedIsInvalid = (field: string): string => `The selected ${labelOf(field)} is invalid.`

/** Names what a reader can't see in the value. */
const hintOf = ({ data, params }: ErrorObject): string => {
  if (typeof data !== 'string') return ''
  const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u
    .exec(data)?.[0]
    .codePointAt(0)
    ?.toString(16)
    .toUpperCase()
    .padStart(4, '0')
  if (invisible) return ` It has the invisible character U+${invisible}.`
  const meant = (params as { format?: string }).format === 'postcode' && postcodeWithZero(data)
  return meant ? ' It has the letter O in place of a zero.' : ''
}

const typeMessage = (label: string, type: string | string[]) => {
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
  minItems: (label, limit) => `The ${label} must have at least ${limit} items.`,
  maxItems: (label, limit) => `The ${label} may not have more than ${limit} items.`,
  pattern: (label) => `The ${label} format is invalid.`,
  uniqueItems: (label) => `The ${label} field has a duplicate value.`,
  maxProperties: (label, limit) => `The ${label} may not have more than ${limit} items.`,
}

const LONGEST_KEY = 100

const ruleOf = (field: string, { keyword, params, propertyName }: ErrorObject): string => {
  const label = labelOf(field)
  if (propertyName !== undefined)
    return `The ${label} has a key that is not allowed: ${propertyName.slice(0, LONGEST_KEY)}.`
  const {
    limit = 0,
    type = '',
    format = '',
    allowedValues = [],
  } = params as { limit?: number; type?: string | string[]; format?: string; allowedValues?: unknown[] }
  if (keyword === 'type') return typeMessage(label, type)
  if (keyword === 'enum')
    return `${selectedIsInvalid(field)} It may be: ${allowedValues.filter((value) => value !== null).join(', ')}.`
  if (keyword === 'format') return `The ${label} ${FORMATS[format]?.message ?? 'format is invalid.'}`
  return MESSAGES[keyword]?.(label, limit) ?? `The ${label} is invalid.`
}

/** The message of an Ajv error, in the words of Laravel 7. */
export const messageOf = (field: string, error: ErrorObject): string => ruleOf(field, error) + hintOf(error)
