import type { ListAccountsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'

/** Every account, for operators. */
export const listAccounts = (deps: { database: Database }) => async (): Promise<ListAccountsResponse> => {
  const rows = await deps.database.query<{ id: number; name: string; api_key: string; created_at: string }>({
    text: 'SELECT id, name, api_key, created_at FROM accounts ORDER BY id',
  })
  return {
    accounts: rows.map((row) => ({
      id: row.id,
      name: row.name,
      apiKey: row.api_key,
      createdAt: row.created_at,
    })),
  }
}
