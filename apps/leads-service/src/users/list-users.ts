import type { ListUsersRequest, ListUsersResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { USER } from './user-row'

const SELECT = `SELECT ${USER.columns} FROM users WHERE account_id = $1 AND removed_at IS NULL ORDER BY id`

/** Every user of an account that was not removed, oldest first. */
export const listUsers =
  (deps: { database: Database }) =>
  async ({ accountId }: ListUsersRequest): Promise<ListUsersResponse> => {
    validate({ account_id: isId(accountId) })
    return { users: await USER.query(deps.database, { text: SELECT, values: [accountId] }) }
  }
