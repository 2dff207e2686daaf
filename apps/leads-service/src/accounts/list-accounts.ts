import type { ListAccountsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Row } from '../row-mapper'
import { ACCOUNT } from './account-rows'

const SELECT = `SELECT ${ACCOUNT.columns} FROM accounts ORDER BY id`

/** Every account, for operators. */
export const listAccounts = (deps: { database: Database }) => async (): Promise<ListAccountsResponse> => {
  const rows = await deps.database.query<Row>({ text: SELECT })
  return { accounts: rows.map(ACCOUNT.read) }
}
