import { AccountDeletion } from '@leadwire/contracts'
import { ServiceError, theRow, within } from '@leadwire/service-kit'
import { rowMapper } from '../../database/row-mapper'
import type { Operation } from '../../operation'

const LOCK = 'SELECT name FROM accounts WHERE id = $1 FOR NO KEY UPDATE'

const SUSPEND = 'UPDATE accounts SET suspended_at = coalesce(suspended_at, clock_timestamp()) WHERE id = $1'

// Lets the job start after 15 seconds. By then, all events in flight have normally reached webhook-service.
// An event that reached webhook-service after the end of the job would never be deleted.
const INSERT = `
  INSERT INTO account_deletions (account_id, leads, due_at)
  SELECT id, lead_count, clock_timestamp() + interval '15 seconds' FROM accounts WHERE id = $1
  ON CONFLICT DO NOTHING`

const DELETION = rowMapper(AccountDeletion, 'account_deletions')

const SELECT = `SELECT ${DELETION.columns} FROM account_deletions WHERE account_id = $1`

/**
 * Returns the progress of an account's deletion, also after the account is gone. Throws `not_found` if no
 * deletion was requested.
 */
export const retrieveAccountDeletion: Operation<'retrieveAccountDeletion'> = async (deps, { accountId }) => {
  const [deletion] = await DELETION.query(deps.database, { text: SELECT, values: [accountId] })
  if (!deletion) throw new ServiceError('not_found', 'No deletion of this account has been requested.')
  return { deletion }
}

/**
 * Suspends an account permanently, and starts the job that removes all its data (`run-account-deletions.ts`).
 * Repeating the call returns the progress of the job. Throws `not_found` if there is no such account. Throws
 * `invalid` if `name` is not the name of the account.
 */
export const deleteAccount: Operation<'deleteAccount'> = (deps, { accountId, name }) =>
  deps.database.transaction(async (tx) => {
    const accounts = await tx.query<{ name: string }>({ text: LOCK, values: [accountId] })
    if (theRow(accounts, 'account').name !== name)
      throw ServiceError.invalid({ name: ['The name must match the name of the account exactly.'] })
    for (const text of [SUSPEND, INSERT]) tx.send({ text, values: [accountId] })
    return retrieveAccountDeletion({ ...deps, database: within(tx) }, { accountId })
  })
