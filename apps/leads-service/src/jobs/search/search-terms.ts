import { emailForm } from '@leadwire/contracts'
import { asciiDigits, isAscii, phoneKeys, takeNumbers } from '../../contacts/phone-numbers'

// With each change of what termsOf or personTerms answers SEARCH_FORMAT of contracts is raised.

/** How long a word is kept. */
const MAX_TERM = 64

/** What a lead is found by. */
export interface Searched {
  name: string
  first_name: string
  last_name: string
  company_name: string | null
  email: string
  phone: string
  phone_link: string
  mobile: string | null
  mobile_link: string | null
  postcode: string
}

// By code points: half a character can not be stored.
const cut = (word: string) => (word.length <= MAX_TERM ? word : [...word].slice(0, MAX_TERM).join(''))

const unique = (words: string[]): string[] => [...new Set(words.map(cut))].filter((word) => word !== '')

export const lettersOf = (text: string) => text.replace(/[^\p{L}\p{N}]+/gu, '')

// Letters that have no accent to be taken off, each with what it is typed as.
const TYPED = new Map(
  'ßss æae œoe øo łl đd ðd þth ıi ħh ŧt ŋn ςσ'
    .split(' ')
    .map(([letter, ...typed]) => [letter, typed.join('')]),
)

/** A text as people type it: in lower case, without accents, with one kind of apostrophe and of digits. */
export const fold = (text: string): string => {
  const plain = text.replace(/[‘’‛ʼʻʹ′´`＇]/g, "'")
  if (isAscii(plain)) return plain.toLowerCase()
  return asciiDigits(plain.normalize('NFKD'))
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()
    .replace(/\P{ASCII}/gu, (letter) => TYPED.get(letter) ?? letter)
}

const NEIGHBOURS = /(?<![\p{L}\p{N}])[+(]*\d+(?:[\s()./-]+\d+)+/gu
const LIKE_PHONE = /^\(*[+0]|(?:\d\D*){7}/

/** Adjacent numbers may be a telephone number, or the start of one. House numbers are no part of one. */
const joinPhones = (text: string, by: string): string =>
  text.replace(NEIGHBOURS, (numbers) => (LIKE_PHONE.test(numbers) ? numbers.replace(/\D+/g, by) : numbers))

/** The words of a text, each from each of its parts on: of O'Brien-Smith `obriensmith`, `briensmith` and `smith`. */
const wordsOf = (text: string): string[] =>
  joinPhones(fold(text), '-')
    .split(/\s+/)
    .flatMap((word) => {
      const parts = word.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '')
      return parts.map((_, index) => parts.slice(index).join(''))
    })

const digitsOf = (text: string): string => asciiDigits(text).replace(/\D/g, '')

/** British numbers are found with 0 and with 44. */
const numberTerms = (key: string): string[] => [
  digitsOf(key),
  key.startsWith('+44') ? `0${key.slice(3)}` : '',
]

/** The digits as well, for those who begin a number as it was written. */
const phoneTerms = (given: string | null, link: string | null): string[] =>
  given === null || link === null ? [] : [digitsOf(given), ...phoneKeys(given, link).flatMap(numberTerms)]

// A text with fewer digits has no telephone number in it, and most names have fewer.
const MAY_HAVE_NUMBER = /(?:\p{Nd}\P{Nd}*){7}/u

const nameTerms = (name: string | null): string[] => {
  if (name === null) return []
  return MAY_HAVE_NUMBER.test(name)
    ? [...wordsOf(name), ...takeNumbers(name).keys.flatMap(numberTerms)]
    : wordsOf(name)
}

/** The word that an e-mail address is found by, whatever its spelling. */
export const emailTerm = (email: string): string => cut(lettersOf(fold(emailForm(email))))

/** The word that a telephone number is found by, of its key. */
export const phoneTerm = (key: string): string => cut(digitsOf(key))

/** The words of what is asked for: each has to be the beginning of one of a lead's. */
export const searchWords = (q: string): string[] => {
  const { keys, rest } = takeNumbers(q)
  const folded = fold(rest.replace(/\S+@\S+/g, emailForm)).replaceAll("'", '')
  const words = joinPhones(folded, '')
    .split(/\s+/)
    // Names are written with a hyphen or a space. What else stands in a word may be an e-mail's.
    .flatMap((word) => (word.includes('@') ? [word] : word.split(/[^\p{L}\p{N}.&+_]+/u)))
  return unique([...keys.map(digitsOf), ...words.map(lettersOf)])
}

/**
 * The words that a lead is found by, each once. A word that another one starts with is left out, unless it is the whole of an address or
 * of a number: persons are found by those.
 */
export const termsOf = (lead: Searched): string[] => {
  const [outward = '', inward = ''] = lead.postcode.toLowerCase().split(' ')
  const whole = new Set([
    emailTerm(lead.email),
    ...phoneTerms(lead.phone, lead.phone_link),
    ...phoneTerms(lead.mobile, lead.mobile_link),
  ])
  const names = [lead.name, lead.first_name, lead.last_name, lead.company_name].flatMap(nameTerms)
  const terms = unique([...names, ...whole, outward + inward, inward]).toSorted()
  return terms.filter((term, index) => whole.has(term) || !terms[index + 1]?.startsWith(term))
}
