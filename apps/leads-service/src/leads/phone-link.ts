import { type CountryCode, type MetadataJson, parsePhoneNumberFromString } from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'

// A link says a number's calling code and not which of its countries it is from (+44: Great Britain, Guernsey, Jersey, the
// Isle of Man). Finding that out tried the number against the kinds of numbers of each, which was a tenth of leads-service's
// processor time under creates. The first country is the one whose rules the library reads the number by.
const { country_calling_codes: countriesOf } = metadata
const MAIN_COUNTRIES = Object.entries(countriesOf).map(([code, [main]]) => [code, [main as CountryCode]])
const METADATA: MetadataJson = { ...metadata, country_calling_codes: Object.fromEntries(MAIN_COUNTRIES) }

/**
 * The tel: link of a telephone number as somebody typed it (RFC 3966, region GB): `01632 960123` is
 * `tel:+441632960123`. A number the library can't read is `tel:` and its digits.
 *
 * Validity is not asked for: Ofcom's numbers for drama are invalid and must pass.
 */
export const phoneLink = (number: string): string =>
  parsePhoneNumberFromString(number, 'GB', METADATA)?.getURI() ?? `tel:${number.replace(/\D/g, '')}`
