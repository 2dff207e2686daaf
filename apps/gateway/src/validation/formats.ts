import { isIP } from 'node:net'
import { Temporal } from '@js-temporal/polyfill'
import { parseDuration } from '@leadwire/service-kit'
import { localInstant } from './local-instant'

const ATOM = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+$/u
const QUOTED = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u

/** An address that mail could be sent to, by the shapes of RFC 5321 and 6531; nothing is looked up. */
export const isEmail = (text: string): boolean => {
  if (text.length > 320) return false
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const labels = text.slice(at + 1).split('.')
  return (
    at > 0 &&
    Buffer.byteLength(local) <= 64 &&
    (QUOTED.test(local) || local.split('.').every((atom) => ATOM.test(atom))) &&
    // One label alone is a host of somebody's own network, where no customer lives.
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label))
  )
}

/** The postcodes that are taken (the rule is in the design: outward and inward part, one space between). */
export const isPostcode = (text: string): boolean =>
  /^(GIR 0AA|[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][A-Z]{2})$/.test(text)

/** A postcode as it is stored: upper case, one space before its last three characters. */
export const normalPostcode = (text: string): string => {
  // Only ASCII letters: toUpperCase would make postcodes of ſ and ß too.
  const letters = text.replace(/[a-z]/g, (letter) => letter.toUpperCase()).replace(/\s+/g, '')
  return letters.length > 3 ? `${letters.slice(0, -3)} ${letters.slice(-3)}` : letters
}

/** A web address that a webhook can be sent to: http or https, no credentials. */
export const isWebUrl = (text: string): boolean => {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false
  const { hostname, username, password } = new URL(text)
  return hostname !== '' && username === '' && password === ''
}

/** An instant in ISO 8601 that says its offset, such as 2026-03-29T01:30:00Z. */
export const isInstant = (text: string): boolean => {
  try {
    Temporal.Instant.from(text)
    return /^(?!0000)\d{4}-/.test(text)
  } catch {
    return false
  }
}

const MAX_OVERLAP_MS = 30 * 24 * 3_600_000

/** How long a secret that is replaced still signs, such as 0s, 15m, 24h; at most 30d. */
export const isOverlap = (text: string): boolean => {
  try {
    return parseDuration(text) <= MAX_OVERLAP_MS
  } catch {
    return false
  }
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The formats that schemas name. `timeZone` is the one in which clients give dates. */
export const formats = (timeZone: string): Record<string, (text: string) => boolean> => ({
  email: isEmail,
  postcode: isPostcode,
  phone: (text) => /\d/.test(text),
  ip: (text) => isIP(text) !== 0,
  'one-line': (text) => !/\p{Cc}/u.test(text),
  'web-url': isWebUrl,
  uuid: (text) => UUID.test(text),
  instant: isInstant,
  overlap: isOverlap,
  'local-date-time': (text) => localInstant(text, timeZone) !== undefined,
})
