import { emailKey, type FindPersonLeadsRequest } from '@leadwire/contracts'
import { requirePart } from '@leadwire/service-kit'
import { phoneKeys, phoneNumbers } from '../../contacts/phone-numbers'
import { firstPage } from '../../database/page'
import { catchUp } from '../../jobs/search/index-leads'
import { emailTerm, phoneTerm, type Searched } from '../../jobs/search/search-terms'
import type { Operation } from '../../operation'

const PER_ANSWER = 20

// Reads the range of the index first, and then only the leads in this range. Reads one row more than the
// response has, to find out whether more rows follow.
const SELECT = `
  SELECT l.number, l.reference, l.email, l.phone, l.phone_link, l.mobile, l.mobile_link
  FROM (
    SELECT number FROM lead_search WHERE account_id = $1 AND term = $2 AND number < $3
    ORDER BY number DESC LIMIT ${PER_ANSWER + 1}
  ) found
  JOIN leads l ON l.account_id = $1 AND l.number = found.number
  ORDER BY l.number DESC`

type Contact = Pick<Searched, 'email' | 'phone' | 'phone_link' | 'mobile' | 'mobile_link'>

/**
 * Returns the search term that all leads of a person have, and `isTheirs`, which checks whether a lead with
 * this term belongs to the person. Different e-mail addresses may have the same term.
 */
const describePerson = ({ email, phone }: FindPersonLeadsRequest) => {
  if (email !== undefined) {
    const wanted = emailKey(email)
    return { term: emailTerm(email), isTheirs: (of: Contact) => emailKey(of.email) === wanted }
  }
  const [{ key }] = phoneNumbers(requirePart(phone, 'email or phone'))
  const isTheirs = (of: Contact) =>
    phoneKeys(of.phone, of.phone_link).includes(key) ||
    (of.mobile !== null && phoneKeys(of.mobile, of.mobile_link!).includes(key))
  return { term: phoneTerm(key), isTheirs }
}

/**
 * Finds the leads whose customer has the given e-mail address or telephone number, newest first. The spelling
 * may differ, and a lead's telephone field may contain other numbers, too.
 */
export const findPersonLeads: Operation<'findPersonLeads'> = async (deps, request) => {
  const { accountId, before } = request
  await catchUp(deps, accountId)
  const { term, isTheirs } = describePerson(request)
  const query = { text: SELECT, values: [accountId, term, before ?? Number.MAX_SAFE_INTEGER] }
  const rows = await deps.database.query<Contact & { number: number; reference: string }>(query)
  const { shown, last } = firstPage(rows, PER_ANSWER)
  return {
    references: shown.filter(isTheirs).map(({ reference }) => reference),
    nextBefore: last?.number,
  }
}
