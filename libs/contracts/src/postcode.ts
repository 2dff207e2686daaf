import { POSTCODE } from './lead-values'

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

/** What may be the start of a postcode as it is stored. */
export const POSTCODE_START = /^([A-Z]{1,4}|[A-Z]{1,2}[0-9][A-Z0-9]?)( [0-9][A-Z0-9]{0,3})?$/

/** The start of a postcode as it is stored: with the space, if the text goes beyond the outward code. */
export const postcodeBeginning = (text: string): string => {
  const letters = inCapitals(text).replace(/\s+/g, ' ')
  if (OUTWARD.test(letters)) return letters
  return letters.replace(/^([A-Z]{1,2}[0-9][A-Z0-9]?|[A-Z]{3,4})([0-9][A-Z0-9]{0,3})$/, '$1 $2')
}
