import type { ErrorObject } from 'ajv'

/** How a field is named in a sentence: `quotes.0.items.1.image_id` is "quotes.0.items.1.image id", as in Laravel 7. */
export const labelOf = (field: string): string => field.replaceAll('_', ' ')

/** What is said of a field that names something which is not there, or not one of the allowed values. */
export const selectedIsInvalid = (field: string): string => `The selected ${labelOf(field)} is invalid.`

const TYPES: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  array: 'an array',
  object: 'an object',
}

const FORMATS: Record<string, string> = {
  email: 'must be a valid email address.',
  ip: 'must be a valid IP address.',
  uuid: 'must be a valid UUID.',
  'local-date-time': 'is not a date and time that exists, in the format dd/mm/yyyy hh:mm.',
  instant: 'is not a valid date (ISO 8601 with its offset).',
  overlap: 'must be a time such as 0s, 15m or 24h, at most 30d.',
}

const typeSentence = (label: string, type: string | string[]) => {
  const types = [type].flat().filter((name) => name !== 'null')
  if (types[0] === 'boolean') return `The ${label} field must be true or false.`
  return `The ${label} must be ${types.map((name) => TYPES[name]).join(' or ')}.`
}

/** What Ajv found, as Laravel 7 would say it. */
export const sentenceOf = (field: string, error: ErrorObject): string => {
  const label = labelOf(field)
  const { limit, type, format } = error.params as {
    limit?: number
    type?: string | string[]
    format?: string
  }
  switch (error.keyword) {
    case 'required':
      return `The ${label} field is required.`
    case 'type':
      return typeSentence(label, type ?? '')
    case 'enum':
      return selectedIsInvalid(field)
    case 'maxLength':
      return `The ${label} may not be greater than ${limit} characters.`
    case 'minLength':
      return `The ${label} must be at least ${limit} characters.`
    case 'minimum':
      return `The ${label} must be at least ${limit}.`
    case 'maximum':
      return `The ${label} may not be greater than ${limit}.`
    case 'minItems':
      return `The ${label} must have at least ${limit} items.`
    case 'maxItems':
    case 'maxProperties':
      return `The ${label} may not have more than ${limit} items.`
    case 'format':
      return FORMATS[format ?? '']
        ? `The ${label} ${FORMATS[format ?? '']}`
        : `The ${label} format is invalid.`
    default:
      return `The ${label} is invalid.`
  }
}
