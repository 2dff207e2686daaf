import type { Account, Actor } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { ACCOUNT } from './account-row'

const LOCK = `SELECT ${ACCOUNT.columns} FROM accounts WHERE id = $1 FOR NO KEY UPDATE`

const SET = `
  UPDATE accounts SET suspended_at = CASE WHEN $2 THEN clock_timestamp() END WHERE id = $1 RETURNING ${ACCOUNT.columns}`

const IS_DELETED = 'SELECT account_id FROM account_deletions WHERE account_id = $1'

/** Suspends an account, or ends that; one that is so already stays as it is. Throws not_found, and conflict for a deleted one. */
export const setSuspension = (
  { database, actor }: { database: Database; actor?: Actor | undefined },
  { accountId, suspended }: { accountId: number; suspended: boolean },
): Promise<Account> =>
  database.transaction(async (tx) => {
    validate({ account_id: isId(accountId) })
    const [before] = await ACCOUNT.query(tx, { text: LOCK, values: [accountId] })
    if (!before) throw new ServiceError('not_found', 'There is no such account.')
    const deletions = await tx.query({ text: IS_DELETED, values: [accountId] })
    if (deletions.length > 0) throw new ServiceError('conflict', 'The account is being deleted.')
    if ((before.suspendedAt !== undefined) === suspended) return before
    const [account] = await ACCOUNT.query(tx, { text: SET, values: [accountId, suspended] })
    const changes = differences({ suspended_at: before.suspendedAt }, { suspended_at: account!.suspendedAt })
    const action = suspended ? 'account.suspended' : 'account.resumed'
    recordAudit(tx, actor, { accountId, action, targetId: accountId, changes })
    return account!
  })
