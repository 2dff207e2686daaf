import { ServiceError } from '@leadwire/service-kit'
import { parse } from 'qs'
import { decodePercent, notUtf8 } from '../http/utf8'

const MAX_FIELDS = 20_000
const MAX_ENTRIES = 1000

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
      arrayLimit: MAX_ENTRIES,
      parameterLimit: MAX_FIELDS,
      throwOnLimitExceeded: true,
      duplicates: 'combine',
      decoder,
    })
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new ServiceError(
      'too_large',
      `The form may not have more than ${MAX_FIELDS} fields, nor a list more than ${MAX_ENTRIES} entries.`,
      { cause },
    )
  }
}
