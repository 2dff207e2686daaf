import type { RetrieveAccountRequest, RetrieveAccountResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { demand, isId } from '../arguments'

/** One account. Throws not_found. */
export const retrieveAccount =
  (deps: { database: Database }) =>
  async ({ accountId }: RetrieveAccountRequest): Promise<RetrieveAccountResponse> => {
    demand({ account_id: isId(accountId) })
    const [row] = await deps.database.query<{
      id: number
      name: string
      api_key: string
      created_at: string
    }>({
      name: 'retrieve-account',
      text: 'SELECT id, name, api_key, created_at FROM accounts WHERE id = $1',
      values: [accountId],
    })
    if (!row) throw new ServiceError('not_found', 'There is no such account.')
    return { account: { id: row.id, name: row.name, apiKey: row.api_key, createdAt: row.created_at } }
  }
