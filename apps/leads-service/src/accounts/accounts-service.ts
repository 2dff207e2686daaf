import type { AccountsServiceImplementation } from '@leadwire/contracts'
import { answerEach, type Database, perCall } from '@leadwire/service-kit'
import { createAccount } from './create-account'
import { createToken } from './create-token'
import { createUser } from './create-user'
import { getAccount } from './get-account'
import { listAccounts } from './list-accounts'
import { listTokens } from './list-tokens'
import { listUsers } from './list-users'
import { revokeToken } from './revoke-token'
import { verifyTokens } from './verify-tokens'

export const accountsService = (deps: {
  database: Database
  draining: AbortSignal
}): AccountsServiceImplementation => ({
  createAccount: perCall(deps, createAccount),
  listAccounts: perCall(deps, listAccounts),
  getAccount: perCall(deps, getAccount),
  verifyTokens: answerEach(verifyTokens(deps), deps.draining),
  listTokens: perCall(deps, listTokens),
  createToken: perCall(deps, createToken),
  revokeToken: perCall(deps, revokeToken),
  listUsers: perCall(deps, listUsers),
  createUser: perCall(deps, createUser),
})
