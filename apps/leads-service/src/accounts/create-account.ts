import {
  type Actor,
  type CreateAccountRequest,
  type CreateAccountResponse,
  CreateTokenRequest,
} from '@leadwire/contracts'
import { type Database, differences, recordAudit } from '@leadwire/service-kit'
import { nameErrors, refuse } from '../arguments'
import { insertToken } from '../tokens/create-token'
import { newApiKey } from '../tokens/credentials'
import { ACCOUNT } from './account-row'

const INSERT = `INSERT INTO accounts (name, api_key) VALUES ($1, $2) RETURNING ${ACCOUNT.columns}`

/** Makes an account and its first token, with the scopes leads and manage, in one transaction. */
export const createAccount =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ name }: CreateAccountRequest): Promise<CreateAccountResponse> => {
    refuse(nameErrors(name))
    return deps.database.transaction(async (tx) => {
      const [account] = await ACCOUNT.query(tx, { text: INSERT, values: [name.trim(), newApiKey()] })
      const { id } = account!
      const changes = differences({}, { name: account!.name })
      recordAudit(tx, deps.actor, { accountId: id, action: 'account.created', targetId: id, changes })
      const first = { accountId: id, name: 'first', scopes: ['leads', 'manage'] }
      return { account, ...(await insertToken(tx, CreateTokenRequest.fromPartial(first), deps.actor)) }
    })
  }
