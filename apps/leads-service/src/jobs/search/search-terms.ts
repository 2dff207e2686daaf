import { emailForm } from '@leadwire/contracts'
import { asciiDigits, isAscii, phoneKeys, takeNumbers } from '../../contacts/phone-numbers'

// Raise SEARCH_FORMAT of libs/contracts whenever the results of listSearchTerms or personTerms change. The
// terms of notes needed no new format, because the release that adds notes finds no lead with notes. During
// the upgrade to this release, an old copy of leads-service would write terms without the notes. But gateways
// are replaced last (docs/operations.md), so that no notes are added while old copies run.

/** The maximum number of code points in a term. The rest is cut off. */
const MAX_TERM = 64

/** The fields of a lead that its search terms are made of. */
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

/** A lead with its newest notes. Search terms depend on the notes, person terms do not. */
export interface SearchedWithNotes extends Searched {
  /** At most NOTE_CHARACTERS. null if the lead has no notes. */
  notes: string | null
}

/** The maximum number of characters of a lead's notes that search terms are made of. */
export const NOTE_CHARACTERS = 20_000

/**
 * The maximum number of terms that the notes of a lead add. A search for a frequent word reads all terms of
 * up to 10,000 leads. With 500 terms each, this takes PostgreSQL 4 s (measured on 2 cores).
 */
const MAX_NOTE_TERMS = 500

// Cuts between code points, because half a surrogate pair cannot be stored.
const cut = (word: string) => (word.length <= MAX_TERM ? word : [...word].slice(0, MAX_TERM).join(''))

const unique = (words: string[]): string[] => [...new Set(words.map(cut))].filter((word) => word !== '')

export const keepLettersAndDigits = (text: string) => text.replace(/[^\p{L}\p{N}]+/gu, '')

// Letters without a removable accent, each followed by the letters that people type for it.
const TYPED = new Map(
  'ßss æae œoe øo łl đd ðd þth ıi ħh ŧt ŋn ςσ'
    .split(' ')
    .map(([letter, ...typed]) => [letter, typed.join('')]),
)

/**
 * Returns a text as people type it: in lower case, without accents, with one kind of apostrophe and with
 * ASCII digits.
 */
export const fold = (text: string): string => {
  const plain = text.replace(/[‘’‛ʼʻʹ′´`＇]/g, "'")
  if (isAscii(plain)) return plain.toLowerCase()
  return asciiDigits(plain.normalize('NFKD'))
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    .toLowerCase()
    .replace(/\P{ASCII}/gu, (letter) => TYPED.get(letter) ?? letter)
}

// Allows few signs before the digits, because the time for a long run of signs without digits would grow with
// the square of its length.
const NEIGHBOURS = /(?<![\p{L}\p{N}])[+(]{0,9}\d+(?:[\s()./-]+\d+)+/gu
const LIKE_PHONE = /^\(*[+0]|(?:\d\D*){7}/

/**
 * Joins adjacent numbers that may be a telephone number or its start. House numbers are not joined.
 */
const joinPhones = (text: string, by: string): string =>
  text.replace(NEIGHBOURS, (numbers) => (LIKE_PHONE.test(numbers) ? numbers.replace(/\D+/g, by) : numbers))

/**
 * Lists the words of a text. A word with several parts is also listed from each later part on: O'Brien-Smith
 * becomes `obriensmith`, `briensmith` and `smith`.
 */
const splitIntoWords = (text: string): string[] =>
  joinPhones(fold(text), '-')
    .split(/\s+/)
    .flatMap((word) => {
      const parts = word.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '')
      // A term needs at most MAX_TERM parts, because each part has at least one character.
      return parts.map((_, index) => parts.slice(index, index + MAX_TERM).join(''))
    })

const keepDigits = (text: string): string => asciiDigits(text).replace(/\D/g, '')

/**
 * Returns the term that finds a number by its end: `$` and the digits in reverse order. No other term starts
 * with `$`.
 */
const reverseDigits = (digits: string): string => `$${[...digits].reverse().join('')}`

/**
 * Lists the terms of a telephone number. Searches find a British number by 0… and by 44…, and any number by
 * its last digits.
 */
const numberTerms = (key: string): string[] => {
  const digits = keepDigits(key)
  if (digits === '') return []
  const national = key.startsWith('+44') ? [`0${key.slice(3)}`] : []
  return [digits, ...national, reverseDigits(digits)]
}

/**
 * Lists the terms of a telephone field. The digits as written are one of the terms, because people may
 * search for the number as it is written.
 */
const phoneTerms = (given: string | null, link: string | null): string[] =>
  given === null || link === null ? [] : [keepDigits(given), ...phoneKeys(given, link).flatMap(numberTerms)]

// Matches a text with at least seven digits. Texts with fewer, such as most names, contain no telephone
// number.
const MAY_HAVE_NUMBER = /(?:\p{Nd}\P{Nd}*){7}/u

const nameTerms = (name: string | null): string[] => {
  if (name === null) return []
  return MAY_HAVE_NUMBER.test(name)
    ? [...splitIntoWords(name), ...takeNumbers(name).numbers.flatMap(({ key }) => numberTerms(key))]
    : splitIntoWords(name)
}

// Does not search notes for telephone numbers, because reading numbers takes long. A number in a note is
// found in the form in which it is written.
const noteTerms = (notes: string | null): string[] =>
  notes === null ? [] : unique(splitIntoWords(notes)).slice(0, MAX_NOTE_TERMS)

/** Returns the term by which an e-mail address is found, in any spelling. */
export const emailTerm = (email: string): string => cut(keepLettersAndDigits(fold(emailForm(email))))

/** Returns the term by which leads with a telephone number are found. `key` is the key of the number. */
export const phoneTerm = (key: string): string => cut(keepDigits(key))

/** Alternative starts of a term. */
export type Starts = string[]

/**
 * A word of a search: several lists, of which a lead must match at least one. A lead matches a list if it
 * matches every element of the list. A lead matches an element if one of the lead's terms begins with one of
 * the starts in the element.
 */
export type SearchWord = Starts[][]

// The minimum number of digits for a search by the end of a number. Too many numbers end with the same three
// digits.
const MIN_END = 4
// The minimum number of digits for a search that omits the 0 or 44 of a number. If four digits were enough, a
// search for `7946` would also find all numbers that begin with 07946.
const MIN_START = 7

/**
 * Lists the starts of terms for digits that may be the start or the end of a number. The start of a number
 * may have been typed without its 0 or 44, or with 00 before it.
 */
const listStarts = (digits: string): Starts => {
  if (digits.length < MIN_END) return [digits]
  const starts = [digits, reverseDigits(digits)]
  if (digits.length >= MIN_START) starts.push(`44${digits}`, digits.replace(/^00/, '').replace(/^440/, '44'))
  return unique(starts)
}

/**
 * Lists the starts of terms for digits that were read as a telephone number. The digits may also be a foreign
 * number without its calling code, or only the start of a longer number.
 */
const listStartsOfNumber = ({ key, digits }: { key: string; digits: string }): Starts =>
  unique([keepDigits(key), digits, reverseDigits(digits.replace(/^0/, ''))])

const DIGIT_GROUPS = /(?<!\S)[+(]*\d+(?:[\s()./-]+\d+)+\)?(?!\S)/g

/**
 * Returns the words of a search. Adjacent groups of digits may be one telephone number or separate words, so
 * they become one word with two alternatives.
 */
export const searchWords = (q: string): SearchWord[] => {
  const { numbers, rest } = takeNumbers(q)
  const folded = fold(rest.replace(/\S+@\S+/g, emailForm)).replaceAll("'", '')
  const groups: SearchWord[] = []
  const others = joinPhones(folded, '').replace(DIGIT_GROUPS, (written) => {
    const joined = keepDigits(written)
    if (joined.length < MIN_END) return written
    groups.push([[listStarts(joined)], written.match(/\d+/g)!.map(listStarts)])
    return ' '
  })
  const words = others
    .split(/\s+/)
    // Splits at hyphens, because people write names with a hyphen or with a space. Does not split at `.&+_`,
    // which may be part of an e-mail address.
    .flatMap((word) => (word.includes('@') ? [word] : word.split(/[^\p{L}\p{N}.&+_]+/u)))
    .map(keepLettersAndDigits)
  return [
    ...numbers.map((number) => [[listStartsOfNumber(number)]]),
    ...groups,
    ...unique(words).map((word) => [[/^\d+$/.test(word) ? listStarts(word) : [word]]]),
  ]
}

/**
 * Returns the search terms of a lead without repetitions. Leaves out a term that is the start of another
 * term, because searches compare only the starts of terms. Keeps whole e-mail addresses and numbers, because
 * `findPersonLeads` compares whole terms.
 */
export const listSearchTerms = (lead: SearchedWithNotes): string[] => {
  const [outward = '', inward = ''] = lead.postcode.toLowerCase().split(' ')
  const whole = new Set([
    emailTerm(lead.email),
    ...phoneTerms(lead.phone, lead.phone_link),
    ...phoneTerms(lead.mobile, lead.mobile_link),
  ])
  const names = [lead.name, lead.first_name, lead.last_name, lead.company_name].flatMap(nameTerms)
  const terms = unique([...names, ...whole, outward + inward, inward, ...noteTerms(lead.notes)]).toSorted()
  return terms.filter((term, index) => whole.has(term) || !terms[index + 1]?.startsWith(term))
}
