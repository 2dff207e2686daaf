import type { DeleteAccountRequest, DeleteAccountResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { deletionOf } from './account-deletion'

const LOCK = 'SELECT name FROM accounts WHERE id = $1 FOR NO KEY UPDATE'

const SUSPEND = 'UPDATE accounts SET suspended_at = coalesce(suspended_at, clock_timestamp()) WHERE id = $1'

// The job starts when everything in flight has arrived: an event that came later would stay.
const INSERT = `
  INSERT INTO account_deletions (account_id, leads, due_at)
  SELECT id, lead_count, clock_timestamp() + interval '15 seconds' FROM accounts WHERE id = $1`

/**
 * Suspends an account for good and starts the job that removes all of it (`run-account-deletions.ts`). A repetition returns the job's state.
 * Throws not_found, and invalid where the name is not the account's.
 */
export const deleteAccount =
  (deps: { database: Database }) =>
  ({ accountId, name }: DeleteAccountRequest): Promise<DeleteAccountResponse> =>
    deps.database.transaction(async (tx) => {
      validate({ account_id: isId(accountId) })
      const [account] = await tx.query<{ name: string }>({ text: LOCK, values: [accountId] })
      if (!account) throw new ServiceError('not_found', 'There is no such account.')
      if (account.name !== name)
        throw ServiceError.invalid({
          name: ['The name must be the one of the account that is to be deleted.'],
        })
      const known = await deletionOf(tx, accountId)
      if (known) return { deletion: known }
      tx.send({ text: SUSPEND, values: [accountId] })
      tx.send({ text: INSERT, values: [accountId] })
      return { deletion: await deletionOf(tx, accountId) }
    })
