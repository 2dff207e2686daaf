// With each change of what termsOf answers SEARCH_FORMAT of contracts is raised.

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
const cut = (word: string) => [...word].slice(0, MAX_TERM).join('')

const AT_THE_EDGES = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu

/** The words of a text, in lower case and without accents. Digits that stand apart, as in telephone numbers, are one word. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replaceAll('’', "'")
    .replace(/(?<=\p{Nd})[\s().-]+(?=\p{Nd})/gu, '')
    .toLowerCase()
    .split(/\s+/)
    .map((word) => cut(word.replace(AT_THE_EDGES, '')))
    .filter((word) => word !== '')

/** Names with a hyphen or an apostrophe are found by their parts, too. */
const partsOf = (word: string) => word.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '')

// What follows a semicolon in a tel: link is its extension.
const digitsOf = (text: string | null): string => (text ?? '').replace(/;.*$/, '').replace(/\D/g, '')

/** British numbers are found with 0 and with 44. */
const phoneTerms = (given: string | null, link: string | null): string[] => {
  const [digits, linked] = [digitsOf(given), digitsOf(link)]
  return [digits, linked, link?.startsWith('tel:+44') ? `0${linked.slice(2)}` : '']
}

/** The words of what is asked for: each has to be the beginning of one of a lead's. */
export const searchWords = (q: string): string[] => [...new Set(wordsOf(q))]

/** The words that a lead is found by, each once. */
export const termsOf = (lead: Searched): string[] => {
  const names = [lead.name, lead.first_name, lead.last_name, lead.company_name ?? ''].flatMap(wordsOf)
  const [outward = '', inward = ''] = lead.postcode.toLowerCase().split(' ')
  const terms = [
    ...names,
    ...names.flatMap(partsOf),
    ...wordsOf(lead.email),
    ...phoneTerms(lead.phone, lead.phone_link),
    ...phoneTerms(lead.mobile, lead.mobile_link),
    ...[outward + inward, inward],
  ]
  return [...new Set(terms.map(cut))].filter((term) => term !== '')
}
