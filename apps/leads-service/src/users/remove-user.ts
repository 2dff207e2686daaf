import type { Actor, RemoveUserRequest, RemoveUserResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit } from '@leadwire/service-kit'
import { isId, validate } from '../arguments'
import { retrieveUser } from './retrieve-user'
import { USER } from './user-row'

const REMOVE = `
  UPDATE users SET removed_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND removed_at IS NULL
  RETURNING ${USER.columns}`

/**
 * Removes a user for good: it gets no leads and no notifications, and its e-mail is free. What was assigned to
 * it keeps its id. An assignment in flight does not wait for the removal, nor the removal for it.
 */
export const removeUser =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId, userId }: RemoveUserRequest): Promise<RemoveUserResponse> => {
    validate({ account_id: isId(accountId), user_id: isId(userId) })
    const removed = await deps.database.transaction(async (tx) => {
      const [user] = await USER.query(tx, { text: REMOVE, values: [accountId, userId] })
      if (!user) return undefined
      const changes = differences({}, { removed_at: user.removedAt })
      recordAudit(tx, deps.actor, { accountId, action: 'user.removed', targetId: userId, changes })
      return { user }
    })
    return removed ?? retrieveUser(deps)({ accountId, userId })
  }
