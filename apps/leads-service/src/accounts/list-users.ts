import type { ListUsersRequest, ListUsersResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { demand, isId } from '../arguments'
import { type UserRow, userOfRow } from './user-row'

const SELECT = 'SELECT id, email, name, created_at FROM users WHERE account_id = $1 ORDER BY id'

/** Every user of an account, oldest first. */
export const listUsers =
  (deps: { database: Database }) =>
  async ({ accountId }: ListUsersRequest): Promise<ListUsersResponse> => {
    demand({ account_id: isId(accountId) })
    const rows = await deps.database.query<UserRow>({ text: SELECT, values: [accountId] })
    return { users: rows.map(userOfRow) }
  }
