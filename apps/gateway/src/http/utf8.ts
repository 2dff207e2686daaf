import { isUtf8 } from 'node:buffer'
import { ServiceError, whenValid } from '@leadwire/service-kit'

export const notUtf8 = () => new ServiceError('bad_request', 'The body is not well-formed UTF-8.')

/** The text of bytes, without a byte order mark. Throws bad_request. */
export const decodeUtf8 = (bytes: Buffer): string => {
  if (!isUtf8(bytes)) throw notUtf8()
  const text = bytes.toString()
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** Text without its percent escapes, undefined when they are not UTF-8. A `%` that begins none stays (WHATWG URL, 1.3). */
export const decodePercent = (text: string): string | undefined => {
  if (!text.includes('%')) return text
  return whenValid(() => decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25')))
}

/** The text of a header, which Node reads as Latin-1. Clients send UTF-8 as well (RFC 9110, 5.5). */
export const headerText = (header: string): string => {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}

// Windows-1252 from 0x80 on, where Latin-1 has controls (WHATWG Encoding). Node's own decoder takes it for Latin-1 (20.20).
const FROM_0X80 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** The text of bytes in Windows-1252, in which each byte is a character. */
export const windows1252Text = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[\x80-\x9f]/g, (control) => FROM_0X80[control.charCodeAt(0) - 0x80]!)
