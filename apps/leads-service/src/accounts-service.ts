import type { AccountsServiceImplementation } from '@leadwire/contracts'
import { answerEach, type Database, perCall } from '@leadwire/service-kit'
import { createAccount } from './accounts/create-account'
import { createToken } from './accounts/create-token'
import { createUser } from './accounts/create-user'
import { listAccounts } from './accounts/list-accounts'
import { listTokens } from './accounts/list-tokens'
import { listUsers } from './accounts/list-users'
import { retrieveAccount } from './accounts/retrieve-account'
import { revokeToken } from './accounts/revoke-token'
import { verifyTokens } from './accounts/verify-tokens'

export const accountsService = (deps: {
  database: Database
  draining: AbortSignal
}): AccountsServiceImplementation => ({
  createAccount: perCall(deps, createAccount),
  listAccounts: perCall(deps, listAccounts),
  retrieveAccount: perCall(deps, retrieveAccount),
  verifyTokens: answerEach(verifyTokens(deps), deps.draining),
  listTokens: perCall(deps, listTokens),
  createToken: perCall(deps, createToken),
  revokeToken: perCall(deps, revokeToken),
  listUsers: perCall(deps, listUsers),
  createUser: perCall(deps, createUser),
})
