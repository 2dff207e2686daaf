import {
  type CountryCode,
  findPhoneNumbersInText,
  type MetadataJson,
  type NumberFound,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'

// Keeps only the first country of each calling code. A link contains the calling code of a number, but not
// its country, and several countries may share a code (+44 has four). Finding the country took a tenth of the
// processor time that leads-service needs for creates. With one country for each code, the library skips this
// search, and reads a number by the rules of that country.
const { country_calling_codes: countriesByCode } = metadata
const MAIN_COUNTRIES = Object.entries(countriesByCode).map(([code, [main]]) => [code, [main as CountryCode]])
const METADATA: MetadataJson = { ...metadata, country_calling_codes: Object.fromEntries(MAIN_COUNTRIES) }

interface Phone {
  /** A tel: link (RFC 3966), with the extension. */
  link: string
  /**
   * The number in E.164 form, without its extension. All spellings of a number have the same key. If the
   * field contains no number, the key is the digits of the field.
   */
  key: string
}

export const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text)

// In Unicode, the ten digits of a script are consecutive, so the value of a digit is its distance from the
// script's zero.
const asciiDigit = (digit: string): string => {
  const code = digit.codePointAt(0)!
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}

/**
 * Returns a text without invisible characters, with ASCII digits and ASCII plus signs, and with a full stop
 * in place of each raised dot between digits.
 */
export const asciiDigits = (text: string): string =>
  isAscii(text)
    ? text
    : text
        .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
        .replace(/(?![0-9])\p{Nd}/gu, asciiDigit)
        .replace(/(?<=\d)[·•](?=\d)/g, '.')
        .replace(/[＋﹢]/g, '+')

// Accepts a possible number even if it is not valid, because Ofcom's numbers for drama are not valid. The
// library considers a British number possible even without its area code. A British number must therefore
// have nine or ten digits after the 0, or be valid, such as Childline's 0800 1111.
const isPlausible = (number: PhoneNumber): boolean =>
  number.countryCallingCode === '44'
    ? /^[1-35789]\d{8,9}$/.test(number.nationalNumber) || number.isValid()
    : number.isPossible()

/**
 * Matches a text that can only be a single number. Saves time, because most fields match, and parsing one
 * number is three times as fast as searching a text for numbers.
 */
const ONE = /^\+?(?:[\s().-]*\d){1,15}$/

// `extended` finds possible numbers, not only valid ones.
const OPTIONS = { defaultCountry: 'GB', extended: true } as const

const search = (text: string): NumberFound[] =>
  findPhoneNumbersInText(text, OPTIONS, METADATA).filter(({ number }) => isPlausible(number))

// Matches a comma or semicolon before at least seven digits. The library would read these digits as an
// extension, so the search replaces the comma or semicolon with another separator.
const SECOND_NUMBER = /[,;](?=\s*[+(]*\d(?:[\s().-]*\d){6})/g

// The library does not separate two numbers that have only spaces between them. This pattern recognises
// British numbers by their length.
const AMONG_DIGITS = /(?<!\d)0(?:[\s()-]*\d){9,10}(?!\d)/g

const searchDigits = (text: string, from: number, to: number): NumberFound[] =>
  [...text.slice(from, to).matchAll(AMONG_DIGITS)].flatMap(({ 0: digits, index }) => {
    const start = from + index
    return search(digits).map(({ number }) => ({ number, startsAt: start, endsAt: start + digits.length }))
  })

const searchAll = (text: string): NumberFound[] => {
  const found = search(text.replace(SECOND_NUMBER, '|'))
  const ends = [0, ...found.map(({ endsAt }) => endsAt)]
  return ends.flatMap((end, index) => {
    const next = found[index]
    const between = searchDigits(text, end, next?.startsAt ?? text.length)
    return next ? [...between, next] : between
  })
}

const findNumbers = (text: string): NumberFound[] => {
  const number = ONE.test(text) ? parsePhoneNumberFromString(text, 'GB', METADATA) : undefined
  return number && isPlausible(number) ? [{ number, startsAt: 0, endsAt: text.length }] : searchAll(text)
}

// Some form widgets add a prefix or a calling code to a number that already has a prefix or a code: `++44…`,
// `+4400…`, `+4444…`.
const GAP = '[\\s().-]*'
const INTERNATIONAL = /(?:\+[\s().+0-]*|(?<!\d)00[\s().+0-]*|(?<!\d)(?:0[\s().-]*)?44)[\s\d().-]*/g
const DOUBLED_PREFIX = new RegExp(`^(?:\\+${GAP}(?:\\+|00)|00${GAP}[+0])[\\s().+0-]*`)
// Without a prefix (`+` or `00`), only the British code 44 is recognised.
const CODE = `(?:\\+|00)${GAP}(${Object.keys(countriesByCode).join('|')})|(44)`
const DOUBLED_CODE = new RegExp(`^(?:${CODE})${GAP}(?:0${GAP})?(?:00${GAP}|(?=\\1\\2))`)
const ZERO_BEFORE_CODE = new RegExp(`^(?:\\+${GAP}0${GAP}|0${GAP}(?=44))`)
const MAX_READINGS = 4

const listReadings = (text: string): string[] => {
  const readings = [text]
  while (readings.length < MAX_READINGS) {
    const last = readings.at(-1)!
    const shorter = last.replace(DOUBLED_CODE, '+').replace(ZERO_BEFORE_CODE, '+')
    if (shorter === last) return readings
    readings.push(shorter)
  }
  return readings
}

/**
 * Rates how well a text reads as telephone numbers. A foreign number that is not valid counts half, because
 * its length proves little.
 */
const rateReading = (text: string): number => {
  const ratings = findNumbers(text).map(({ number }) =>
    number.countryCallingCode === '44' || number.isValid() ? 2 : 1,
  )
  return ratings.reduce((sum, rating) => sum + rating, 0)
}

// Chooses the reading with the best rating. Each further reading omits more digits that may be a doubled
// prefix or code. If several readings have the best rating, chooses the longest, because the omitted digits
// may belong to the number: in +46 46 12 34 56 the second 46 is an area code, and +020 7946 0958 is a
// national number (London) after a plus sign.
const chooseReading = (written: string): string => {
  const readings = listReadings(written.replace(DOUBLED_PREFIX, '+'))
  if (readings.length === 1 && readings[0] === written) return written
  const ratings = readings.map(rateReading)
  const best = Math.max(...ratings)
  return best === 0 ? written : readings[ratings.indexOf(best)]!
}

/** Returns a text with ASCII digits, and without repeated prefixes and calling codes. */
const normalizeNumbers = (text: string): string => asciiDigits(text).replace(INTERNATIONAL, chooseReading)

const WITH_FRACTION = /^(\d+)[.,]0+$/
const SCIENTIFIC = /^(\d)[.,](\d+)e\+?(\d+)$/i

/**
 * Restores a number that a spreadsheet has reformatted. Returns an empty text if the spreadsheet has rounded
 * the number. Returns any other text unchanged.
 */
const restoreNumber = (text: string): string => {
  const [, whole] = WITH_FRACTION.exec(text) ?? []
  const [, first, others, exponent] = SCIENTIFIC.exec(text) ?? []
  if (first === undefined) return whole ?? text
  return others!.length === Number(exponent) ? first + others : ''
}

/**
 * Returns the telephone numbers in a field, whatever text is around them. Reads national numbers as British
 * numbers. If a field contains no number, returns its digits. Short codes, and local numbers without an area
 * code, do not count as numbers.
 */
export const phoneNumbers = (field: string): [Phone, ...Phone[]] => {
  const found = findNumbers(normalizeNumbers(restoreNumber(asciiDigits(field))))
  const [first, ...others] = found.map(({ number }): Phone => ({ link: number.getURI(), key: number.number }))
  const digits = asciiDigits(field).replace(/\D/g, '')
  return first ? [first, ...others] : [{ link: `tel:${digits}`, key: digits }]
}

/**
 * Returns the keys of the numbers in a field. `link` is the stored link of the field. If the field is a
 * single number and the link has a plus sign, takes the key from the link. Otherwise reads the field again,
 * because a link without a plus sign may be from a release that did not find the number.
 */
export const phoneKeys = (field: string, link: string): string[] =>
  ONE.test(field) && link.startsWith('tel:+')
    ? [link.replace(/^tel:|;.*$/g, '')]
    : phoneNumbers(field).map(({ key }) => key)

/** A number in a text: its key, and its digits as they are written. */
type WrittenNumber = { key: string; digits: string }

/** Returns the numbers in a text, and the rest of the text. */
export const takeNumbers = (given: string): { numbers: WrittenNumber[]; rest: string } => {
  const text = normalizeNumbers(given)
  const numbers: WrittenNumber[] = []
  let rest = ''
  let end = 0
  for (const { number, startsAt, endsAt } of findNumbers(text)) {
    numbers.push({ key: number.number, digits: text.slice(startsAt, endsAt).replace(/\D/g, '') })
    rest += `${text.slice(end, startsAt).replace(/tel:$/i, '')} `
    end = endsAt
  }
  return { numbers, rest: rest + text.slice(end) }
}
