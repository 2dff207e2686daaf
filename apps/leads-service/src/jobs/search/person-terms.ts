import { emailKey } from '@leadwire/contracts'
import { phoneKeys } from '../../contacts/phone-numbers'
import { fold, keepLettersAndDigits, type Searched } from './search-terms'

/**
 * Leads of one person share person terms. This object maps the first character of a person term to the reason
 * why leads that share the term are suspected duplicates. Searches never find person terms, because no word
 * of a search begins with one of these characters.
 */
export const REASONS = { '@': 'email', '+': 'phone', '=': 'name_postcode' } as const

/**
 * The maximum number of code points in a person term. 500 code points, at most 2,000 bytes, fit into an index
 * row.
 */
const MAX_LENGTH = 500

const GMAIL = /^(.+)@(?:gmail|googlemail)\.com$/s

/**
 * Returns the mailbox of an e-mail address. Drops dots, and everything after a plus sign, from the local part
 * of a Gmail address, because Gmail ignores these characters.
 */
const identifyMailbox = (email: string): string => {
  const key = emailKey(email)
  const [, local = ''] = GMAIL.exec(key) ?? []
  const name = local.replace(/\+.*$/s, '').replaceAll('.', '')
  return name === '' ? key : `${name}@gmail.com`
}

const listPhoneKeys = (given: string | null, link: string | null): string[] =>
  given === null || link === null ? [] : phoneKeys(given, link).filter((key) => key.startsWith('+'))

/** Returns the person terms of a lead, which are stored with its search terms. An erased lead has none. */
export const personTerms = (lead: Searched): string[] => {
  const name = keepLettersAndDigits(fold(`${lead.first_name} ${lead.last_name}`))
  const terms = [
    ...(lead.email === '' ? [] : [`@${identifyMailbox(lead.email)}`]),
    ...listPhoneKeys(lead.phone, lead.phone_link),
    ...listPhoneKeys(lead.mobile, lead.mobile_link),
    ...(name === '' || lead.postcode === '' ? [] : [`=${lead.postcode} ${name}`]),
  ]
  return [...new Set(terms)].map((term) =>
    term.length <= MAX_LENGTH ? term : [...term].slice(0, MAX_LENGTH).join(''),
  )
}
