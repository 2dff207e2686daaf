import type { ListAccountsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { ACCOUNT } from './account-row'

const SELECT = `SELECT ${ACCOUNT.columns} FROM accounts ORDER BY id`

/** Every account, for operators. */
export const listAccounts = (deps: { database: Database }) => async (): Promise<ListAccountsResponse> => {
  return { accounts: await ACCOUNT.query(deps.database, { text: SELECT }) }
}
