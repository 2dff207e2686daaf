import type { SeededAccount } from '../data/seed-accounts'
import type { RequestPlan } from '../load/jobs'

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36'

const authorization = ({ token }: SeededAccount) => ({ authorization: `Bearer ${token}` })

export const getRequest = (account: SeededAccount, path: string): RequestPlan => ({
  method: 'GET',
  path,
  headers: authorization(account),
})

export const retrieveRequests = (account: SeededAccount, references: string[]): RequestPlan[] =>
  references.map((reference) => getRequest(account, `/leads/${reference}`))

/** A Create Lead request as a browser's form would bring it. */
export const createRequest = (account: SeededAccount): RequestPlan => ({
  method: 'POST',
  path: '/leads',
  headers: { ...authorization(account), 'content-type': 'application/json', 'user-agent': BROWSER },
  body: JSON.stringify({
    name: 'New windows, front of house',
    first_name: 'Ada',
    last_name: 'Byron',
    email: 'ada@example.com',
    phone: '020 7946 0000',
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
  }),
})
