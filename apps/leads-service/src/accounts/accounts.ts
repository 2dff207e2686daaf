import { Account, CreateTokenRequest, isEmail } from '@leadwire/contracts'
import { type OpenTransaction, ServiceError } from '@leadwire/service-kit'
import { nameErrors, refuse } from '../arguments'
import { managedRecords } from '../database/managed-records'
import type { Operation } from '../operation'
import { insertToken, newSecret } from '../tokens/tokens'

const ACCOUNTS = managedRecords(Account, 'accounts', 'account')

export const createAccount: Operation<'createAccount'> = async ({ database, actor }, { name }) => {
  refuse(nameErrors(name))
  return database.transaction(async (tx) => {
    // It names the account to webhook receivers.
    const { secret: api_key } = newSecret('key')
    const account = await ACCOUNTS.insert(tx, actor, { name: name.trim(), api_key }, ['name'])
    const first = { accountId: account.id, name: 'first', scopes: ['leads', 'manage'] }
    return { account, ...(await insertToken(tx, CreateTokenRequest.fromPartial(first), actor)) }
  })
}

export const listAccounts: Operation<'listAccounts'> = async ({ database }) => ({
  accounts: await ACCOUNTS.list(database, 'true', []),
})

export const retrieveAccount: Operation<'retrieveAccount'> = async ({ database }, request) => ({
  account: await ACCOUNTS.retrieve(database, request),
})

/** Creates of leads lock the row of their account as well: each waits for the other, and neither for long. */
export const updateAccount: Operation<'updateAccount'> = async (deps, request) => {
  const { contactEmail } = request
  if (contactEmail && !isEmail(contactEmail))
    throw ServiceError.invalid({ contact_email: ['The contact email must be a valid email address.'] })
  const account = await ACCOUNTS.change(deps, request, {
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

/** Suspends an account: its tokens are refused within a second, everywhere. Throws conflict for a deleted one. */
export const suspendAccount: Operation<'suspendAccount'> = ACCOUNTS.changing({
  ...{ action: 'account.suspended', logged: ['suspendedAt'], check: requireKept },
  set: 'suspended_at = coalesce(suspended_at, clock_timestamp())',
})

export const resumeAccount: Operation<'resumeAccount'> = ACCOUNTS.changing({
  ...{ action: 'account.resumed', logged: ['suspendedAt'], check: requireKept },
  set: 'suspended_at = NULL',
})
