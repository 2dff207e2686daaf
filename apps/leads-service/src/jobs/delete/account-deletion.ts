import { AccountDeletion } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { rowMapper } from '../../database/row-mapper'

const DELETION = rowMapper(AccountDeletion, 'account_deletions')

const SELECT = `SELECT ${DELETION.columns} FROM account_deletions WHERE account_id = $1`

/** The state of an account's deletion; undefined where none was requested. */
export const deletionOf = async (db: Transaction, accountId: number): Promise<AccountDeletion | undefined> =>
  (await DELETION.query(db, { text: SELECT, values: [accountId] }))[0]
