import { isUtf8 } from 'node:buffer'
import { ServiceError, whenValid } from '@leadwire/service-kit'

export const notUtf8 = () => new ServiceError('bad_request', 'The body is not well-formed UTF-8.')

/** Decodes UTF-8, and removes a byte order mark. Throws `bad_request` if the bytes are not UTF-8. */
export const decodeUtf8 = (bytes: Buffer): string => {
  if (!isUtf8(bytes)) throw notUtf8()
  const text = bytes.toString()
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/**
 * Decodes percent escapes. Returns undefined if the result is not UTF-8. Keeps a `%` that begins no escape
 * (WHATWG URL, 1.3).
 */
export const decodePercent = (text: string): string | undefined => {
  if (!text.includes('%')) return text
  return whenValid(() => decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25')))
}

/**
 * Returns the text of a header. Node decodes headers as Latin-1, but some clients send UTF-8 (RFC 9110, 5.5).
 * Header bytes that are valid UTF-8 are therefore decoded as UTF-8.
 */
export const headerText = (header: string): string => {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}

/**
 * Returns the encoding for a label in WHATWG's table, such as `windows-1252` for `latin1`. Returns undefined
 * for an unknown label. Also returns undefined for ISO-2022-JP, because a part of such a text cannot be
 * decoded without all earlier bytes.
 */
export const findEncoding = (label: string): string | undefined => {
  const encoding = whenValid(() => new TextDecoder(label).encoding)
  return encoding === 'iso-2022-jp' ? undefined : encoding
}
