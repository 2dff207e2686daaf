import isEmailOfBmp from 'validator/lib/isEmail'

// Joiners are letters of some scripts. The library throws for half a character (Cs).
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/u

/** An address that mail could be sent to, by the shapes of RFC 5321 and 6531, at a domain; no name server is asked. */
export const isEmail = (text: string): boolean =>
  // The library knows no characters beyond U+FFFF: two others have as many bytes.
  !INVISIBLE.test(text) && isEmailOfBmp(text.replace(/[\u{10000}-\u{10FFFF}]/gu, '\u00e9\u00e9'))

const BREAK = /[\t-\r\x85\u2028\u2029]+/g
const CONTROL = /(?!\0)[\p{Cc}\p{Bidi_Control}]/gu
const NOT_ONE_LINE = /(?!\0)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u
const VISIBLE = /\0|[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

/** What breaks lines becomes a space; other control characters, and those that turn text around, go. A NUL stays: it is refused. */
export const oneLine = (text: string): string =>
  NOT_ONE_LINE.test(text) ? text.replace(BREAK, ' ').replace(CONTROL, '').trim() : text

/** Whether a text is such a line, without a NUL. */
export const isOneLine = (text: string): boolean => !text.includes('\0') && oneLine(text) === text

/** Line breaks and tabs stay. */
export const manyLines = (text: string): string => text.replace(/(?![\0\t\n\r])\p{Cc}/gu, '')

/** White space, or characters without a shape of their own. */
export const isInvisible = (text: string): boolean => !VISIBLE.test(text)

export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

const HEX = '[0-9A-Fa-f]'
const ENDS = [4, 4, 4].reduce((end, n) => `(-(${HEX}{0,${n - 1}}|${HEX}{${n}}${end}))?`, `(-${HEX}{0,12})?`)

/** A UUID, or its first 4 digits or more. */
export const UUID_START = new RegExp(`^(${HEX}{4,7}|${HEX}{8}${ENDS})$`)

/** Whether a text is an instant that exists: ISO 8601 in UTC, with at most six digits of a second. */
export const isInstant = (text: string): boolean => {
  const [, seconds] = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,6})?Z$/.exec(text) ?? []
  if (seconds === undefined) return false
  const date = new Date(`${seconds}Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(seconds)
}

/** The name in SQL and JSON of a field: `address1` is `address_1`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`)
