import type { FindPersonLeadsRequest, FindPersonLeadsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { demand, isId, isSaid } from '../arguments'
import { phoneLink } from './phone-link'

const PER_ANSWER = 20

// Each is a range of an index that ends with the customer's id. One row more than is answered with tells whether more follow.
const customersBy = (condition: string) => `
  (SELECT id FROM customers WHERE account_id = $1 AND ${condition} AND id < $3 ORDER BY id DESC LIMIT ${PER_ANSWER + 1})`

const leadsOf = (customers: string) => `
  SELECT c.id, l.reference FROM (${customers}) c
  JOIN leads l ON l.account_id = $1 AND l.customer_id = c.id
  ORDER BY c.id DESC LIMIT ${PER_ANSWER + 1}`

const BY_EMAIL = leadsOf(customersBy('lower(email) = lower($2)'))
const BY_PHONE = leadsOf(`${customersBy('phone_link = $2')} UNION ${customersBy('mobile_link = $2')}`)

/** The leads whose customer has an e-mail address, in whatever case, or a telephone number, in whatever spelling; newest first. */
export const findPersonLeads =
  (deps: { database: Database }) =>
  async (request: FindPersonLeadsRequest): Promise<FindPersonLeadsResponse> => {
    const { accountId, email, phone, before } = request
    demand({
      account_id: isId(accountId),
      email: email === undefined ? phone !== undefined : isSaid(email),
      phone: phone === undefined || (email === undefined && isSaid(phone)),
      before: before === undefined || isId(before),
    })
    const [text, wanted] = email === undefined ? [BY_PHONE, phoneLink(phone!)] : [BY_EMAIL, email]
    const values = [accountId, wanted, before ?? Number.MAX_SAFE_INTEGER]
    const rows = await deps.database.query<{ id: number; reference: string }>({ text, values })
    const shown = rows.slice(0, PER_ANSWER)
    return {
      references: shown.map(({ reference }) => reference),
      nextBefore: rows.length > PER_ANSWER ? shown.at(-1)!.id : undefined,
    }
  }
