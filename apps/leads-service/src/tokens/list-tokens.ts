import type { ListTokensRequest, ListTokensResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { TOKEN } from './token-row'

const SELECT = `SELECT ${TOKEN.columns} FROM tokens WHERE account_id = $1 ORDER BY id`

/** Every token of an account, revoked ones too, oldest first. */
export const listTokens =
  (deps: { database: Database }) =>
  async ({ accountId }: ListTokensRequest): Promise<ListTokensResponse> => {
    validate({ account_id: isId(accountId) })
    return { tokens: await TOKEN.query(deps.database, { text: SELECT, values: [accountId] }) }
  }
