import type { RemoveUserRequest, RemoveUserResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { demand, isId } from '../arguments'
import { USER } from './account-rows'

const REMOVE = `
  UPDATE users SET removed_at = coalesce(removed_at, clock_timestamp())
  WHERE account_id = $1 AND id = $2
  RETURNING ${USER.columns}`

/**
 * Removes a user for good: nothing more is assigned to it, nothing is told to it, and its e-mail is free. What was assigned to
 * it keeps its id. An assignment that is under way does not wait for this, nor this for it.
 */
export const removeUser =
  (deps: { database: Database }) =>
  async ({ accountId, userId }: RemoveUserRequest): Promise<RemoveUserResponse> => {
    demand({ account_id: isId(accountId), user_id: isId(userId) })
    const [user] = await USER.query(deps.database, { text: REMOVE, values: [accountId, userId] })
    if (!user) throw new ServiceError('not_found', 'There is no such user.')
    return { user }
  }
