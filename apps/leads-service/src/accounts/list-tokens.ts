import type { ListTokensRequest, ListTokensResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { demand, isId } from '../arguments'
import { TOKEN_COLUMNS, type TokenRow, tokenOfRow } from './token-row'

const SELECT = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE account_id = $1 ORDER BY id`

/** Every token of an account, revoked ones too, oldest first. */
export const listTokens =
  (deps: { database: Database }) =>
  async ({ accountId }: ListTokensRequest): Promise<ListTokensResponse> => {
    demand({ account_id: isId(accountId) })
    const rows = await deps.database.query<TokenRow>({ text: SELECT, values: [accountId] })
    return { tokens: rows.map(tokenOfRow) }
  }
