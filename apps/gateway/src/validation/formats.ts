import { isIP } from 'node:net'
import { Temporal } from '@js-temporal/polyfill'
import {
  ATTRIBUTE_BYTES,
  isEmail,
  isOneLine,
  isUuid,
  manyLines,
  normalPostcode,
  oneLine,
  POSTCODE,
  POSTCODE_START,
  postcodeBeginning,
  UUID_START,
} from '@leadwire/contracts'
import { parseDuration, whenValid } from '@leadwire/service-kit'
import { placeOf } from './cursor'
import { FIRST_YEAR, LAST_YEAR, localInstant } from './local-instant'

/**
 * Longer than any text with a format may be. Longer texts are not parsed: normalising takes time with the square of the length, a
 * minute for a body full of accents (in an e-mail address, or the host of a URL).
 */
const LONGEST_READ = 4096

/** A web address that a webhook can be sent to: http or https, no credentials. */
const isWebUrl = (text: string): boolean => {
  // The URL parser ignores tabs and line breaks.
  if (text.length > LONGEST_READ || !/^https?:\/\//i.test(text) || !isOneLine(text) || !URL.canParse(text))
    return false
  const { hostname, username, password } = new URL(text)
  return hostname !== '' && username === '' && password === ''
}

/** The origin of a web page, as browsers send it. A wildcard would match no page: origins are compared as they are. */
const isWebOrigin = (text: string): boolean =>
  isWebUrl(text) && new URL(text).origin === text && !text.includes('*')

/** An instant in ISO 8601 with its offset, such as 2026-03-29T01:30:00Z. */
export const isInstant = (text: string): boolean =>
  /^(?!0000)\d{4}-/.test(text) && whenValid(() => Temporal.Instant.from(text)) !== undefined

/** An instant in UTC, truncated to microseconds: PostgreSQL would round it, the last one of 9999 to the year 10000. */
export const inMicroseconds = (instant: string): string =>
  Temporal.Instant.from(instant).round({ smallestUnit: 'microsecond', roundingMode: 'trunc' }).toString()

/** How long a replaced secret still signs. */
const MAX_OVERLAP_MS = 30 * 24 * 3_600_000

const ATTRIBUTE_FILTER = /^[a-z][a-z0-9_]{0,39}:/

interface Format {
  /** Before the check. By default a text stays as it is. */
  normalise?: (text: string) => string
  /** `timeZone` is that of clients' dates. */
  isValid: (text: string, timeZone: string) => boolean
  /** What is wrong, after the name of the field. */
  message?: string
  /** The format in terms of JSON Schema. By default JSON Schema has a format of this name. */
  schema?: object
}

/** The formats of texts in requests. A text without a format is a line. */
export const FORMATS: Record<string, Format> = {
  lines: { normalise: manyLines, isValid: () => true, schema: {} },
  email: {
    normalise: (text) => (text.length > LONGEST_READ ? text : oneLine(text).normalize('NFC')),
    isValid: (text) => text.length <= LONGEST_READ && isEmail(text),
    message: 'must be a valid email address.',
  },
  phone: {
    normalise: oneLine,
    isValid: (text) => /\p{Nd}/u.test(text),
    // The digits of other scripts are valid too.
    schema: { pattern: '[0-9٠-٩۰-۹０-９]' },
  },
  postcode: {
    normalise: (text) => normalPostcode(oneLine(text)),
    isValid: (text) => POSTCODE.test(text),
    // Case and spaces do not matter.
    schema: {
      pattern: POSTCODE.source
        .replace(/A-Z|[A-Z]/g, (letter) =>
          letter === 'A-Z' ? 'A-Za-z' : `[${letter}${letter.toLowerCase()}]`,
        )
        .replaceAll(' ', ' *'),
    },
  },
  'postcode-start': {
    normalise: (text) => postcodeBeginning(oneLine(text)),
    isValid: (text) => POSTCODE_START.test(text),
    message: 'must be the start of a UK postcode.',
    // Case and spaces do not matter.
    schema: { pattern: '^[A-Za-z][A-Za-z0-9 ]*$' },
  },
  ip: {
    isValid: (text) => isIP(text) !== 0,
    message: 'must be a valid IP address.',
    schema: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
  },
  attribute: {
    isValid: (text) => Buffer.byteLength(text) <= ATTRIBUTE_BYTES,
    message: `may not be longer than ${ATTRIBUTE_BYTES} bytes.`,
    schema: {},
  },
  'attribute-filter': {
    isValid: (text) => ATTRIBUTE_FILTER.test(text),
    message: 'must be the key of an attribute, a colon and its value, such as utm_source:newsletter.',
    schema: { pattern: ATTRIBUTE_FILTER.source },
  },
  cursor: {
    normalise: placeOf,
    isValid: (place) => place !== '',
    schema: { pattern: '^[A-Za-z0-9_-]*$' },
  },
  'one-line': { isValid: isOneLine, schema: { pattern: '^[^\\x00-\\x1f\\x7f]*$' } },
  'web-url': { isValid: isWebUrl, schema: { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' } },
  origin: {
    normalise: (text) => (isWebUrl(text) && /^[^/]*\/\/[^/]*\/?$/.test(text) ? new URL(text).origin : text),
    isValid: isWebOrigin,
    message: 'must be an origin such as https://www.example.com, without a path.',
    schema: { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/]+/?$' },
  },
  uuid: { isValid: isUuid, message: 'must be a valid UUID.' },
  'uuid-start': {
    isValid: (text) => UUID_START.test(text),
    message: 'must be a valid UUID, or its first 4 hexadecimal digits or more.',
    schema: { pattern: UUID_START.source },
  },
  instant: {
    isValid: isInstant,
    message: 'is not a valid date (ISO 8601 with its offset).',
    schema: { format: 'date-time' },
  },
  overlap: {
    isValid: (text) => whenValid(() => parseDuration(text) <= MAX_OVERLAP_MS) ?? false,
    message: 'must be a time such as 0s, 15m or 24h, at most 30d.',
    schema: { pattern: '^[0-9]+(ms|s|m|h|d)$' },
  },
  'local-date-time': {
    isValid: (text, timeZone) => localInstant(text, timeZone) !== undefined,
    message: `is not a date and time that exists, from ${FIRST_YEAR} to ${LAST_YEAR}, in the format dd/mm/yyyy hh:mm.`,
    schema: { pattern: '^[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}$' },
  },
}
