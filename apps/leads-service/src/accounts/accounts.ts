import { randomBytes } from 'node:crypto'
import {
  Account,
  type CreateAccountRequest,
  CreateTokenRequest,
  isEmail,
  type RetrieveAccountRequest,
  type UpdateAccountRequest,
} from '@leadwire/contracts'
import { type OpenTransaction, ServiceError } from '@leadwire/service-kit'
import { nameErrors, refuse } from '../arguments'
import { type ManagementDeps, managedRecords } from '../database/managed-records'
import { insertToken } from '../tokens/tokens'

const ACCOUNTS = managedRecords(Account, 'accounts', 'account')

const idsOf = ({ accountId }: RetrieveAccountRequest) => ({ account_id: accountId })

/** Makes an account and its first token, with the scopes leads and manage. */
export const createAccount =
  ({ database, actor }: ManagementDeps) =>
  async ({ name }: CreateAccountRequest) => {
    refuse(nameErrors(name))
    return database.transaction(async (tx) => {
      // It names the account to webhook receivers.
      const api_key = `lw_key_${randomBytes(32).toString('base64url')}`
      const account = await ACCOUNTS.insert(tx, actor, { name: name.trim(), api_key }, ['name'])
      const first = { accountId: account.id, name: 'first', scopes: ['leads', 'manage'] }
      return { account, ...(await insertToken(tx, CreateTokenRequest.fromPartial(first), actor)) }
    })
  }

/** Every account, for operators. */
export const listAccounts =
  ({ database }: ManagementDeps) =>
  async () => ({ accounts: await ACCOUNTS.list(database, 'true', []) })

export const retrieveAccount =
  ({ database }: ManagementDeps) =>
  async (request: RetrieveAccountRequest) => ({ account: await ACCOUNTS.retrieve(database, idsOf(request)) })

/** Changes what is given of an account. Creates of leads lock its row as well: each waits for the other, and neither for long. */
export const updateAccount = (deps: ManagementDeps) => async (request: UpdateAccountRequest) => {
  const { contactEmail } = request
  if (contactEmail && !isEmail(contactEmail))
    throw ServiceError.invalid({ contact_email: ['The contact email must be a valid email address.'] })
  const account = await ACCOUNTS.change(deps, idsOf(request), {
    action: 'account.updated',
    logged: ['contactEmail'],
    set: "contact_email = nullif(coalesce($2, contact_email), '')",
    values: [contactEmail ?? null],
  })
  return { account }
}

const requireKept = async ({ id }: Account, tx: OpenTransaction): Promise<void> => {
  const text = 'SELECT account_id FROM account_deletions WHERE account_id = $1'
  if ((await tx.query({ text, values: [id] })).length > 0)
    throw new ServiceError('conflict', 'The account is being deleted.')
}

const suspensionBy =
  (action: 'account.suspended' | 'account.resumed', suspendedAt: string) =>
  (deps: ManagementDeps) =>
  async (request: RetrieveAccountRequest) => ({
    account: await ACCOUNTS.change(deps, idsOf(request), {
      ...{ action, logged: ['suspendedAt'], check: requireKept },
      set: `suspended_at = ${suspendedAt}`,
    }),
  })

/** Suspends an account: its tokens are refused within a second, everywhere. Throws conflict for a deleted one. */
export const suspendAccount = suspensionBy('account.suspended', 'coalesce(suspended_at, clock_timestamp())')

/** Ends the suspension of an account. Throws conflict for a deleted one. */
export const resumeAccount = suspensionBy('account.resumed', 'NULL')
