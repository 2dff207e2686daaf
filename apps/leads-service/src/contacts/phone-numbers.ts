import {
  type CountryCode,
  findPhoneNumbersInText,
  type MetadataJson,
  type NumberFound,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/core'
import metadata from 'libphonenumber-js/min/metadata'

// A link has a number's calling code, not its country (+44 has four). Finding the country out was a tenth of leads-service's
// processor time under creates. The library reads the number by the rules of the first country.
const { country_calling_codes: countriesOf } = metadata
const MAIN_COUNTRIES = Object.entries(countriesOf).map(([code, [main]]) => [code, [main as CountryCode]])
const METADATA: MetadataJson = { ...metadata, country_calling_codes: Object.fromEntries(MAIN_COUNTRIES) }

interface Phone {
  /** RFC 3966, with its extension. */
  link: string
  /** The same in every spelling, and without an extension: E.164, or the digits of a field in which no number was found. */
  key: string
}

export const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text)

// Unicode has each script's ten in a row.
const asciiDigit = (digit: string): string => {
  const code = digit.codePointAt(0)!
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}

/** A text with the digits of every script as ASCII ones, full stops for the raised dots between them, and nothing that can not be seen. */
export const asciiDigits = (text: string): string =>
  isAscii(text)
    ? text
    : text
        .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
        .replace(/(?![0-9])\p{Nd}/gu, asciiDigit)
        .replace(/(?<=\d)[·•](?=\d)/g, '.')

// Not validity: Ofcom's numbers for drama are invalid and must pass. Of Great Britain the library also calls possible what lacks
// its area code; Childline's 0800 1111 is as short, and valid.
const isPlausible = (number: PhoneNumber): boolean =>
  number.countryCallingCode === '44'
    ? /^[1-35789]\d{8,9}$/.test(number.nationalNumber) || number.isValid()
    : number.isPossible()

/** What can not be more than one number. Most fields are that, and reading it is three times as fast as searching it. */
const ONE = /^\+?(?:[\s().-]*\d){1,15}$/

// `extended` asks for possible numbers instead of valid ones.
const OPTIONS = { defaultCountry: 'GB', extended: true } as const

const search = (text: string): NumberFound[] =>
  findPhoneNumbersInText(text, OPTIONS, METADATA).filter(({ number }) => isPlausible(number))

// The library takes a number behind a comma or a semicolon for an extension.
const SECOND_NUMBER = /[,;](?=\s*[+(]*\d(?:[\s().-]*\d){6})/g

// Nor does it part numbers with nothing but spaces in and between them. British ones are known by their length.
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

const WITH_FRACTION = /^(\d+)[.,]0+$/
const SCIENTIFIC = /^(\d)[.,](\d+)e\+?(\d+)$/i

/** What a spreadsheet makes of a number, as a number again. Of one that it rounded nothing is left to be read. */
const ofSpreadsheet = (text: string): string => {
  const [, whole] = WITH_FRACTION.exec(text) ?? []
  const [, first, others, exponent] = SCIENTIFIC.exec(text) ?? []
  if (first === undefined) return whole ?? text
  return others!.length === Number(exponent) ? first + others : ''
}

/**
 * The telephone numbers of a field, read as in Great Britain, whatever stands around them. A field without any, such as a short code
 * or a local number without its area code, is its digits.
 */
export const phoneNumbers = (field: string): [Phone, ...Phone[]] => {
  const text = asciiDigits(field)
  const found = findNumbers(ofSpreadsheet(text))
  const [first, ...others] = found.map(({ number }): Phone => ({ link: number.getURI(), key: number.number }))
  const digits = text.replace(/\D/g, '')
  return first ? [first, ...others] : [{ link: `tel:${digits}`, key: digits }]
}

/** The keys of a field whose link is known. */
export const phoneKeys = (field: string, link: string): string[] =>
  ONE.test(field) ? [link.replace(/^tel:|;.*$/g, '')] : phoneNumbers(field).map(({ key }) => key)

/** The keys of the numbers of a text, and what is left of it without them. */
export const takeNumbers = (given: string): { keys: string[]; rest: string } => {
  const text = asciiDigits(given)
  const found = findNumbers(text)
  let rest = ''
  let end = 0
  for (const { startsAt, endsAt } of found) {
    rest += `${text.slice(end, startsAt).replace(/tel:$/i, '')} `
    end = endsAt
  }
  return { keys: found.map(({ number }) => number.number), rest: rest + text.slice(end) }
}
