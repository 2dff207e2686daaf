import { isIP } from 'node:net'
import {
  ATTRIBUTE_BYTES,
  isEmail,
  isHeaderValue,
  isOneLine,
  isUuid,
  isWebUrl,
  manyLines,
  normalPostcode,
  oneLine,
  POSTCODE,
  POSTCODE_START,
  postcodeBeginning,
  UUID_START,
} from '@leadwire/contracts'
import { parseDuration, whenValid } from '@leadwire/service-kit/runtime'
import { decodeCursor, INVALID_CURSOR } from './cursor'
import { isDate } from './dates'
import { HEADER_NAME, isOwnHeader } from './header-name'
import { FIRST_YEAR, isInstant, LAST_YEAR, parseLocalInstant, readPastInstant } from './instants'
import { IP_PATTERN } from './ip-pattern'

/**
 * The maximum length of an e-mail address that is parsed. The time to normalise an address grows with the
 * square of its length: an address as long as a body, and full of accents, would take a minute.
 */
const LONGEST_READ = 4096

/**
 * Returns whether a text is the origin of a web page, as browsers send it. Refuses a wildcard: origins are
 * compared literally, so a wildcard would match no page.
 */
const isWebOrigin = (text: string): boolean =>
  isWebUrl(text) && new URL(text).origin === text && !text.includes('*')

/** How long a replaced secret may still sign. */
const MAX_OVERLAP_MS = 30 * 24 * 3_600_000

const ATTRIBUTE_FILTER = /^[a-z][a-z0-9_]{0,39}:/
const USER_FILTER = /^(none|[1-9][0-9]{0,14})$/

interface Format {
  /** Runs before the check. By default a text stays as it is. */
  normalise?: (text: string) => string
  /** `timeZone` is the zone of times without an offset. */
  isValid: (text: string, timeZone: string) => boolean
  /** The end of the error message, after the name of the field. */
  message?: string
  /** The JSON Schema of the format. Default: JSON Schema's own format with the same name. */
  schema?: object
}

/** The formats of texts in requests. A text without a format is a single line. */
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
    message: 'format is invalid. Use a telephone number with at least one digit.',
    // Digits of other scripts are valid, too.
    schema: { pattern: '[0-9٠-٩۰-۹０-９]' },
  },
  postcode: {
    normalise: (text) => normalPostcode(oneLine(text)),
    isValid: (text) => POSTCODE.test(text),
    message: 'format is invalid. Use a UK postcode such as SW1A 1AA.',
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
    schema: { pattern: IP_PATTERN },
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
  'user-filter': {
    isValid: (text) => USER_FILTER.test(text),
    message: 'must be the ID of a user, or none for unassigned leads.',
    schema: { pattern: USER_FILTER.source },
  },
  cursor: {
    normalise: decodeCursor,
    isValid: (place) => place !== '',
    message: INVALID_CURSOR,
    schema: { pattern: '^[A-Za-z0-9_-]*$' },
  },
  'one-line': {
    isValid: isOneLine,
    message: 'format is invalid. Remove line breaks, control characters and outer spaces.',
    schema: { pattern: '^[^\\x00-\\x1f\\x7f]*$' },
  },
  'header-name': {
    isValid: isOwnHeader,
    schema: { pattern: HEADER_NAME.source },
  },
  'header-value': {
    isValid: isHeaderValue,
    message: 'must consist of visible ASCII characters, with spaces only between them.',
    schema: {},
  },
  'web-url': {
    isValid: isWebUrl,
    message: 'format is invalid. Use an http or https URL without a user name and password.',
    schema: { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' },
  },
  origin: {
    normalise: (text) => (isWebUrl(text) && /^[^/]*\/\/[^/]*\/?$/.test(text) ? new URL(text).origin : text),
    isValid: isWebOrigin,
    message: 'must be an origin such as https://www.example.com, without a path.',
    schema: { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/]+/?$' },
  },
  uuid: { isValid: isUuid, message: 'must be a valid UUID.' },
  'uuid-start': {
    isValid: (text) => UUID_START.test(text),
    message: 'must be a valid UUID, or the start of a UUID with at least 4 digits.',
    schema: { pattern: UUID_START.source },
  },
  instant: {
    isValid: isInstant,
    message: 'is not a valid date. Use ISO 8601 with an offset, such as 2026-11-21T09:30:00Z.',
    schema: { format: 'date-time' },
  },
  date: {
    isValid: isDate,
    message: `is not a valid date. Use the format yyyy-mm-dd, with a year from ${FIRST_YEAR} to ${LAST_YEAR}.`,
    schema: { format: 'date' },
  },
  'past-time': {
    isValid: (text, timeZone) => readPastInstant(text, timeZone) !== undefined,
    message: 'must be a time in the past, such as 2024-05-17T09:30:00Z, 2024-05-17 or 17/05/2024 09:30.',
    schema: {},
  },
  overlap: {
    isValid: (text) => whenValid(() => parseDuration(text) <= MAX_OVERLAP_MS) ?? false,
    message: 'must be a duration such as 0s, 15m or 24h, at most 30d.',
    schema: { pattern: '^[0-9]+(ms|s|m|h|d)$' },
  },
  'local-date-time': {
    isValid: (text, timeZone) => parseLocalInstant(text, timeZone) !== undefined,
    message: `is not a valid date and time. Use the format dd/mm/yyyy hh:mm, with a year from ${FIRST_YEAR} to ${LAST_YEAR}. The date must exist, and the time must not be in the hour that is skipped when the clocks go forward.`,
    schema: { pattern: '^[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}$' },
  },
}
