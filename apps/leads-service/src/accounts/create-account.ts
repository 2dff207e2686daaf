import type { CreateAccountRequest, CreateAccountResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { insertToken } from './create-token'
import { newApiKey } from './credentials'
import { nameFaults } from './name-faults'

interface AccountRow {
  id: number
  name: string
  api_key: string
  created_at: string
}

const INSERT = 'INSERT INTO accounts (name, api_key) VALUES ($1, $2) RETURNING id, name, api_key, created_at'

/** Makes an account and its first token, with the scopes leads and manage, in one transaction. */
export const createAccount =
  (deps: { database: Database }) =>
  async ({ name }: CreateAccountRequest): Promise<CreateAccountResponse> => {
    const faults = nameFaults(name)
    if (Object.keys(faults).length > 0) throw ServiceError.invalid(faults)
    return deps.database.transaction(async (tx) => {
      const [account] = await tx.query<AccountRow>({ text: INSERT, values: [name.trim(), newApiKey()] })
      const { id, api_key, created_at } = account!
      const first = {
        accountId: id,
        name: 'first',
        scopes: ['leads', 'manage'],
        test: false,
        expiresAt: undefined,
      }
      const { token, secret } = await insertToken(tx, first)
      return { account: { id, name: account!.name, apiKey: api_key, createdAt: created_at }, token, secret }
    })
  }
