import type { RetrieveAccountRequest, RetrieveAccountResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { demand, isId } from '../arguments'
import type { Row } from '../row-mapper'
import { ACCOUNT } from './account-rows'

const SELECT = `SELECT ${ACCOUNT.columns} FROM accounts WHERE id = $1`

/** One account. Throws not_found. */
export const retrieveAccount =
  (deps: { database: Database }) =>
  async ({ accountId }: RetrieveAccountRequest): Promise<RetrieveAccountResponse> => {
    demand({ account_id: isId(accountId) })
    const [row] = await deps.database.query<Row>({
      name: 'retrieve-account',
      text: SELECT,
      values: [accountId],
    })
    if (!row) throw new ServiceError('not_found', 'There is no such account.')
    return { account: ACCOUNT.read(row) }
  }
