import { Account, CreateTokenRequest } from '@leadwire/contracts'
import { type OpenTransaction, ServiceError } from '@leadwire/service-kit'
import { managedRecords } from '../database/managed-records'
import type { Operation } from '../operation'
import { insertToken, newSecret } from '../tokens/tokens'

const ACCOUNTS = managedRecords(Account, 'accounts', 'account')

export const createAccount: Operation<'createAccount'> = ({ database, actor }, { name }) =>
  database.transaction(async (tx) => {
    // `api_key` identifies the account to webhook receivers.
    const { secret: api_key } = newSecret('key')
    const account = await ACCOUNTS.insert(tx, actor, { name, api_key }, ['name'])
    const first = { accountId: account.id, name: 'first', scopes: ['leads', 'manage'] }
    return { account, ...(await insertToken(tx, CreateTokenRequest.fromPartial(first), actor)) }
  })

export const listAccounts: Operation<'listAccounts'> = async ({ database }) => ({
  accounts: await ACCOUNTS.list(database, 'true', []),
})

export const retrieveAccount: Operation<'retrieveAccount'> = async ({ database }, request) => ({
  account: await ACCOUNTS.retrieve(database, request),
})

/**
 * Updates an account, and locks its row. Creating a lead locks the same row, so the two operations may
 * briefly wait for each other.
 */
export const updateAccount: Operation<'updateAccount'> = async (deps, request) => {
  const { contactEmail, appointmentDueMinutes, callbackDueMinutes } = request
  const account = await ACCOUNTS.change(deps, request, {
    action: 'account.updated',
    logged: ['contactEmail', 'appointmentDueMinutes', 'callbackDueMinutes'],
    set: `contact_email = nullif(coalesce($2, contact_email), ''),
      appointment_due_minutes = coalesce($3, appointment_due_minutes),
      callback_due_minutes = coalesce($4, callback_due_minutes)`,
    values: [contactEmail ?? null, appointmentDueMinutes ?? null, callbackDueMinutes ?? null],
  })
  return { account }
}

const requireKept = async ({ id }: Account, tx: OpenTransaction): Promise<void> => {
  const text = 'SELECT account_id FROM account_deletions WHERE account_id = $1'
  if ((await tx.query({ text, values: [id] })).length > 0)
    throw new ServiceError('conflict', 'The account is being deleted, so it cannot be suspended or resumed.')
}

/**
 * Suspends an account. Its tokens are refused everywhere within a second. Throws `conflict` if the account is
 * being deleted.
 */
export const suspendAccount: Operation<'suspendAccount'> = ACCOUNTS.changing({
  action: 'account.suspended',
  logged: ['suspendedAt'],
  check: requireKept,
  set: 'suspended_at = coalesce(suspended_at, clock_timestamp())',
})

export const resumeAccount: Operation<'resumeAccount'> = ACCOUNTS.changing({
  action: 'account.resumed',
  logged: ['suspendedAt'],
  check: requireKept,
  set: 'suspended_at = NULL',
})
