import type { AccountsServiceImplementation } from '@leadwire/contracts'
import { type Database, inTurn } from '@leadwire/service-kit'
import { createAccount } from './create-account'
import { createToken } from './create-token'
import { createUser } from './create-user'
import { getAccount } from './get-account'
import { listAccounts } from './list-accounts'
import { listTokens } from './list-tokens'
import { listUsers } from './list-users'
import { revokeToken } from './revoke-token'
import { verifyTokens } from './verify-tokens'

export const accountsService = (deps: { database: Database }): AccountsServiceImplementation => ({
  createAccount: createAccount(deps),
  listAccounts: listAccounts(deps),
  getAccount: getAccount(deps),
  verifyTokens: inTurn(verifyTokens(deps)),
  listTokens: listTokens(deps),
  createToken: createToken(deps),
  revokeToken: revokeToken(deps),
  listUsers: listUsers(deps),
  createUser: createUser(deps),
})
