import { AccountDeletion } from '@leadwire/contracts'
import { ServiceError, theRow, within } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { rowMapper } from '../../database/row-mapper'
import type { Operation } from '../../operation'

const LOCK = 'SELECT name FROM accounts WHERE id = $1 FOR NO KEY UPDATE'

const SUSPEND = 'UPDATE accounts SET suspended_at = coalesce(suspended_at, clock_timestamp()) WHERE id = $1'

// The job starts when everything in flight has arrived: an event that came later would stay.
const INSERT = `
  INSERT INTO account_deletions (account_id, leads, due_at)
  SELECT id, lead_count, clock_timestamp() + interval '15 seconds' FROM accounts WHERE id = $1
  ON CONFLICT DO NOTHING`

const DELETION = rowMapper(AccountDeletion, 'account_deletions')

const SELECT = `SELECT ${DELETION.columns} FROM account_deletions WHERE account_id = $1`

/** How the deletion of an account fares, also when the account is gone. Throws not_found. */
export const retrieveAccountDeletion: Operation<'retrieveAccountDeletion'> = async (deps, { accountId }) => {
  validate({ account_id: isId(accountId) })
  const [deletion] = await DELETION.query(deps.database, { text: SELECT, values: [accountId] })
  if (!deletion) throw new ServiceError('not_found', 'The deletion of this account was never requested.')
  return { deletion }
}

/**
 * Suspends an account for good and starts the job that removes all of it (`run-account-deletions.ts`). A repetition returns the job's state.
 * Throws not_found, and invalid where the name is not the account's.
 */
export const deleteAccount: Operation<'deleteAccount'> = (deps, { accountId, name }) =>
  deps.database.transaction(async (tx) => {
    validate({ account_id: isId(accountId) })
    const accounts = await tx.query<{ name: string }>({ text: LOCK, values: [accountId] })
    if (theRow(accounts, 'account').name !== name)
      throw ServiceError.invalid({ name: ['The name must be the one of the account that is to be deleted.'] })
    for (const text of [SUSPEND, INSERT]) tx.send({ text, values: [accountId] })
    return retrieveAccountDeletion({ ...deps, database: within(tx) }, { accountId })
  })
