import { emailKey } from '@leadwire/contracts'
import { phoneKeys } from '../../contacts/phone-numbers'
import { fold, lettersOf, type Searched } from './search-terms'

/** What the leads of one person have in common, by how a term of it starts. No search starts with one of these. */
export const REASONS = { '@': 'email', '+': 'phone', '=': 'name_postcode' } as const

/** What fits into a row of an index: each code point has four bytes at most. */
const MAX_LENGTH = 500

const GMAIL = /^(.+)@(?:gmail|googlemail)\.com$/s

/** Google ignores dots, and what follows a plus. */
const mailboxOf = (email: string): string => {
  const key = emailKey(email)
  const [, local = ''] = GMAIL.exec(key) ?? []
  const name = local.replace(/\+.*$/s, '').replaceAll('.', '')
  return name === '' ? key : `${name}@gmail.com`
}

const phonesOf = (given: string | null, link: string | null): string[] =>
  given === null || link === null ? [] : phoneKeys(given, link).filter((key) => key.startsWith('+'))

/** The terms that the leads of one person share; an erased lead has none. They stand among the words of search. */
export const personTerms = (lead: Searched): string[] => {
  const name = lettersOf(fold(`${lead.first_name} ${lead.last_name}`))
  const terms = [
    ...(lead.email === '' ? [] : [`@${mailboxOf(lead.email)}`]),
    ...phonesOf(lead.phone, lead.phone_link),
    ...phonesOf(lead.mobile, lead.mobile_link),
    ...(name === '' || lead.postcode === '' ? [] : [`=${lead.postcode} ${name}`]),
  ]
  return [...new Set(terms)].map((term) =>
    term.length <= MAX_LENGTH ? term : [...term].slice(0, MAX_LENGTH).join(''),
  )
}
