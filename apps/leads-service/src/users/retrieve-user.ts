import type { RetrieveUserRequest, RetrieveUserResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { USER } from './user-row'

export const userNotFound = () => new ServiceError('not_found', 'There is no such user.')

const SELECT = `SELECT ${USER.columns} FROM users WHERE account_id = $1 AND id = $2`

/** One user, also one that was removed. Throws not_found. */
export const retrieveUser =
  (deps: { database: Database }) =>
  async ({ accountId, userId }: RetrieveUserRequest): Promise<RetrieveUserResponse> => {
    validate({ account_id: isId(accountId), user_id: isId(userId) })
    const [user] = await USER.query(deps.database, { text: SELECT, values: [accountId, userId] })
    if (!user) throw userNotFound()
    return { user }
  }
