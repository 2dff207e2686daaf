import { isIP } from 'node:net'
import { Temporal } from '@js-temporal/polyfill'
import { isEmail, POSTCODE } from '@leadwire/contracts'
import { parseDuration } from '@leadwire/service-kit'
import { localInstant } from './local-instant'

const inCapitals = (text: string): string =>
  // Only ASCII letters, because toUpperCase would make postcodes of ſ and ß.
  text.replace(/\p{Cf}/gu, '').replace(/[a-z]/g, (letter) => letter.toUpperCase())

/** A postcode as it is stored: upper case, one space before its last three characters, or before the number of a BFPO. */
export const normalPostcode = (text: string): string =>
  inCapitals(text)
    .replace(/\s+/g, '')
    .replace(/^(BFPO(?=\d)|.+(?=.{3}$))/s, '$1 ')

const LONGEST_POSTCODE = 'BFPO 9999'.length

/** The postcode with a zero for a letter O, if that makes one. */
export const postcodeWithZero = (text: string): string | undefined => {
  // The text may be as long as a body.
  if (text.length > LONGEST_POSTCODE) return undefined
  return [...text.matchAll(/O/g)]
    .map(({ index }) => `${text.slice(0, index)}0${text.slice(index + 1)}`)
    .find((postcode) => POSTCODE.test(postcode))
}

// `SW11` is an outward code, although `SW1 1AA` starts with its letters too.
const OUTWARD = /^[A-Z]{1,2}[0-9]?[A-Z0-9]?$/

/** The start of a postcode as it is stored: with the space, if the text goes beyond the outward code. */
export const postcodeBeginning = (text: string): string => {
  const letters = inCapitals(text).replace(/\s+/g, ' ')
  if (OUTWARD.test(letters)) return letters
  return letters.replace(/^([A-Z]{1,2}[0-9][A-Z0-9]?|[A-Z]{3,4})([0-9][A-Z0-9]{0,3})$/, '$1 $2')
}

/** A web address that a webhook can be sent to: http or https, no credentials. */
export const isWebUrl = (text: string): boolean => {
  // The URL parser ignores tabs and line breaks.
  if (!/^https?:\/\//i.test(text) || /\p{Cc}/u.test(text) || !URL.canParse(text)) return false
  const { hostname, username, password } = new URL(text)
  return hostname !== '' && username === '' && password === ''
}

/** An instant in ISO 8601 with its offset, such as 2026-03-29T01:30:00Z. */
export const isInstant = (text: string): boolean => {
  try {
    Temporal.Instant.from(text)
    return /^(?!0000)\d{4}-/.test(text)
  } catch {
    return false
  }
}

/** An instant in UTC, truncated to microseconds: PostgreSQL would round it, the last one of 9999 to the year 10000. */
export const inMicroseconds = (instant: string): string =>
  Temporal.Instant.from(instant).round({ smallestUnit: 'microsecond', roundingMode: 'trunc' }).toString()

const MAX_OVERLAP_MS = 30 * 24 * 3_600_000

/** How long a replaced secret still signs: 0s, 15m, 24h …, at most 30d. */
export const isOverlap = (text: string): boolean => {
  try {
    return parseDuration(text) <= MAX_OVERLAP_MS
  } catch {
    return false
  }
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** `timeZone` is that of clients' dates. */
export const formats = (timeZone: string): Record<string, (text: string) => boolean> => ({
  email: isEmail,
  postcode: (text) => POSTCODE.test(text),
  phone: (text) => /\p{Nd}/u.test(text),
  lines: () => true,
  ip: (text) => isIP(text) !== 0,
  'one-line': (text) => !/\p{Cc}/u.test(text),
  'web-url': isWebUrl,
  uuid: (text) => UUID.test(text),
  instant: isInstant,
  overlap: isOverlap,
  'local-date-time': (text) => localInstant(text, timeZone) !== undefined,
})
