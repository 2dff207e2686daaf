import { POSTCODE } from './lead-values'

const inCapitals = (text: string): string =>
  // Converts only ASCII letters, because toUpperCase would also turn ſ into S and ß into SS.
  text.replace(/\p{Cf}/gu, '').replace(/[a-z]/g, (letter) => letter.toUpperCase())

/**
 * Returns a postcode as it is stored: in upper case, with one space. The space is before the last three
 * characters, or in a BFPO postcode before the number.
 */
export const normalPostcode = (text: string): string =>
  inCapitals(text)
    .replace(/\s+/g, '')
    .replace(/^(BFPO(?=\d)|.+(?=.{3}$))/s, '$1 ')

const LONGEST_POSTCODE = 'BFPO 9999'.length

/**
 * Returns the valid postcode that results if one letter O is replaced with a zero. Returns undefined if no
 * such replacement is valid.
 */
export const postcodeWithZero = (text: string): string | undefined => {
  // Limits the work, because the text may be as long as a request body.
  if (text.length > LONGEST_POSTCODE) return undefined
  return [...text.matchAll(/O/g)]
    .map(({ index }) => `${text.slice(0, index)}0${text.slice(index + 1)}`)
    .find((postcode) => POSTCODE.test(postcode))
}

// `SW11` is read as an outward code, although it could also be the start of `SW1 1AA`.
const OUTWARD = /^[A-Z]{1,2}[0-9]?[A-Z0-9]?$/

/** Matches the start of a stored postcode. */
export const POSTCODE_START = /^([A-Z]{1,4}|[A-Z]{1,2}[0-9][A-Z0-9]?)( [0-9][A-Z0-9]{0,3})?$/

/**
 * Returns the start of a postcode in the form in which postcodes are stored. If the text goes beyond the
 * outward code, a space follows the outward code.
 */
export const postcodeBeginning = (text: string): string => {
  const letters = inCapitals(text).replace(/\s+/g, ' ')
  if (OUTWARD.test(letters)) return letters
  return letters.replace(/^([A-Z]{1,2}[0-9][A-Z0-9]?|[A-Z]{3,4})([0-9][A-Z0-9]{0,3})$/, '$1 $2')
}
