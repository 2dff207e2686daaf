import isEmailOfBmp from 'validator/lib/isEmail'

// Joiners (U+200C and U+200D) are allowed, because they are part of words in some scripts. Lone surrogates
// (Cs) are excluded, because `isEmailOfBmp` throws for them.
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/u

/**
 * Returns whether a text has the form of a mail address at a domain (RFC 5321 and 6531). Does not query DNS.
 */
export const isEmail = (text: string): boolean =>
  // `isEmailOfBmp` rejects characters beyond U+FFFF. Each such character is replaced with two é, which
  // together have the same number of bytes.
  !INVISIBLE.test(text) && isEmailOfBmp(text.replace(/[\u{10000}-\u{10FFFF}]/gu, '\u00e9\u00e9'))

const BREAK = /[\t-\r\x85\u2028\u2029]+/g
const CONTROL = /(?!\0)[\p{Cc}\p{Bidi_Control}]/gu
const NOT_ONE_LINE = /(?!\0)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u
const VISIBLE = /\0|[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * Makes a text a single line: line breaks and tabs become spaces, and other control characters and bidi
 * controls are removed. A NUL stays, so that validation refuses the text.
 */
export const oneLine = (text: string): string =>
  NOT_ONE_LINE.test(text) ? text.replace(BREAK, ' ').replace(CONTROL, '').trim() : text

/** Returns whether a text is a single line (see `oneLine`) without a NUL. */
export const isOneLine = (text: string): boolean => !text.includes('\0') && oneLine(text) === text

/** Removes control characters, except line breaks, tabs and NUL. */
export const manyLines = (text: string): string => text.replace(/(?![\0\t\n\r])\p{Cc}/gu, '')

/**
 * The maximum length of a URL that is parsed. The time to parse a host with many accented letters grows with
 * the square of its length.
 */
const LONGEST_URL = 4096

/** Returns whether webhooks can be sent to a URL: http or https, without credentials. */
export const isWebUrl = (text: string): boolean => {
  if (text.length > LONGEST_URL || !/^https?:\/\//i.test(text)) return false
  // Checks for a single line before parsing, because the URL parser silently drops tabs and line breaks.
  if (!isOneLine(text) || !URL.canParse(text)) return false
  const { hostname, username, password } = new URL(text)
  return hostname !== '' && username === '' && password === ''
}

/**
 * Returns whether a text can be a header value (RFC 9110, 5.5): visible ASCII characters, and spaces
 * between them.
 */
export const isHeaderValue = (text: string): boolean => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)

/** Returns whether a text has no visible character. A NUL counts as visible. */
export const isInvisible = (text: string): boolean => !VISIBLE.test(text)

export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

const HEX = '[0-9A-Fa-f]'
const ENDS = [4, 4, 4].reduce((end, n) => `(-(${HEX}{0,${n - 1}}|${HEX}{${n}}${end}))?`, `(-${HEX}{0,12})?`)

/** Matches a UUID, or at least its first four digits. */
export const UUID_START = new RegExp(`^(${HEX}{4,7}|${HEX}{8}${ENDS})$`)

/**
 * Returns whether a text is an instant that exists: ISO 8601 in UTC, with at most six fractional digits.
 */
export const isInstant = (text: string): boolean => {
  const [, seconds] = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,6})?Z$/.exec(text) ?? []
  if (seconds === undefined) return false
  const date = new Date(`${seconds}Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(seconds)
}

/** Returns the name of a field in SQL and JSON: `address1` becomes `address_1`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`)
