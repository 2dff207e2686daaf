import { parsePhoneNumberFromString } from 'libphonenumber-js'

/**
 * The tel: link of a telephone number as somebody typed it (RFC 3966, region GB): `01632 960123` is
 * `tel:+441632960123`. A number the library can't read is `tel:` and its digits.
 *
 * Validity is not asked for: Ofcom's numbers for drama are invalid and must pass.
 */
export const phoneLink = (number: string): string =>
  parsePhoneNumberFromString(number, 'GB')?.getURI() ?? `tel:${number.replace(/\D/g, '')}`
