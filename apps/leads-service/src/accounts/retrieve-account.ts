import type { RetrieveAccountRequest, RetrieveAccountResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { ACCOUNT } from './account-row'

const SELECT = `SELECT ${ACCOUNT.columns} FROM accounts WHERE id = $1`

export const accountNotFound = () => new ServiceError('not_found', 'There is no such account.')

/** One account. Throws not_found. */
export const retrieveAccount =
  (deps: { database: Database }) =>
  async ({ accountId }: RetrieveAccountRequest): Promise<RetrieveAccountResponse> => {
    validate({ account_id: isId(accountId) })
    const query = { name: 'retrieve-account', text: SELECT, values: [accountId] }
    const [account] = await ACCOUNT.query(deps.database, query)
    if (!account) throw accountNotFound()
    return { account }
  }
