import { emailKey, type FindPersonLeadsRequest } from '@leadwire/contracts'
import { isId, isOptional, isSaid, validate } from '../../arguments'
import { phoneKeys, phoneNumbers } from '../../contacts/phone-numbers'
import { firstPage } from '../../database/page'
import { catchUp } from '../../jobs/search/index-leads'
import { emailTerm, phoneTerm, type Searched } from '../../jobs/search/search-terms'
import type { Operation } from '../../operation'

const PER_ANSWER = 20

// A range of an index, which is read before anything else. One row more than the response has shows whether more follow.
const SELECT = `
  SELECT l.number, l.reference, l.email, l.phone, l.phone_link, l.mobile, l.mobile_link
  FROM (
    SELECT number FROM lead_search WHERE account_id = $1 AND term = $2 AND number < $3
    ORDER BY number DESC LIMIT ${PER_ANSWER + 1}
  ) found
  JOIN leads l ON l.account_id = $1 AND l.number = found.number
  ORDER BY l.number DESC`

type Contact = Pick<Searched, 'email' | 'phone' | 'phone_link' | 'mobile' | 'mobile_link'>

/** The word that leads of a person have, and whether a lead that has it is theirs. */
const personOf = ({ email, phone }: FindPersonLeadsRequest) => {
  if (email !== undefined) {
    const wanted = emailKey(email)
    return { term: emailTerm(email), isTheirs: (of: Contact) => emailKey(of.email) === wanted }
  }
  const [{ key }] = phoneNumbers(phone!)
  const isTheirs = (of: Contact) =>
    phoneKeys(of.phone, of.phone_link).includes(key) ||
    (of.mobile !== null && phoneKeys(of.mobile, of.mobile_link!).includes(key))
  return { term: phoneTerm(key), isTheirs }
}

/** The leads whose customer has an e-mail address or a telephone number, in whatever spelling and beside others; newest first. */
export const findPersonLeads: Operation<'findPersonLeads'> = async (deps, request) => {
  const { accountId, email, phone, before } = request
  validate({
    account_id: isId(accountId),
    email: email === undefined ? phone !== undefined : isSaid(email),
    phone: phone === undefined || (email === undefined && isSaid(phone)),
    before: isOptional(before, isId),
  })
  await catchUp(deps, accountId)
  const { term, isTheirs } = personOf(request)
  const query = { text: SELECT, values: [accountId, term, before ?? Number.MAX_SAFE_INTEGER] }
  const rows = await deps.database.query<Contact & { number: number; reference: string }>(query)
  const { shown, last } = firstPage(rows, PER_ANSWER)
  return {
    references: shown.filter(isTheirs).map(({ reference }) => reference),
    nextBefore: last?.number,
  }
}
