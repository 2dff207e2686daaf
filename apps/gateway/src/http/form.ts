import { ServiceError } from '@leadwire/service-kit'
import { parse } from 'qs'
import { decodePercent, notUtf8 } from './utf8'

const decoder = (text: string): string => {
  const decoded = decodePercent(text.replaceAll('+', ' '))
  if (decoded === undefined) throw notUtf8()
  return decoded
}

/**
 * The fields of a form. Repeated fields are an array, and brackets make arrays and objects: `scopes=a&scopes=b`,
 * `scopes[]=a`, `options[width]=5`. Throws bad_request for escapes that are not UTF-8, too_large for too many fields.
 */
export const parseForm = (text: string): Record<string, unknown> => {
  try {
    return parse(text, {
      plainObjects: true,
      depth: 10,
      arrayLimit: 1000,
      parameterLimit: 20_000,
      throwOnLimitExceeded: true,
      duplicates: 'combine',
      decoder,
    })
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new ServiceError('too_large', 'The form has too many fields.', { cause })
  }
}
