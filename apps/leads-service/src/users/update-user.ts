import type { Actor, UpdateUserRequest, UpdateUserResponse } from '@leadwire/contracts'
import { type Database, differences, recordAudit, ServiceError } from '@leadwire/service-kit'
import { errorsOf, isId, nameErrors, refuse } from '../arguments'
import { emailForm } from '../contacts/email-form'
import { userNotFound } from './retrieve-user'
import { emailErrors, emailFailure } from './user-email'
import { USER } from './user-row'

const LOCK = `SELECT ${USER.columns} FROM users WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE`

const UPDATE = `
  UPDATE users SET email = coalesce($3, email), name = coalesce($4, name)
  WHERE account_id = $1 AND id = $2
  RETURNING ${USER.columns}`

/** Changes what is given of a user. One that was removed is refused: it is there to be seen, and not to be changed. */
export const updateUser =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId, userId, email, name }: UpdateUserRequest): Promise<UpdateUserResponse> => {
    refuse({
      ...errorsOf({ account_id: isId(accountId), user_id: isId(userId) }),
      ...(name !== undefined && nameErrors(name)),
      ...(email !== undefined && emailErrors(email)),
    })
    try {
      return await deps.database.transaction(async (tx) => {
        const [before] = await USER.query(tx, { text: LOCK, values: [accountId, userId] })
        if (!before) throw userNotFound()
        if (before.removedAt) {
          throw ServiceError.invalid({ id: ['The user was removed and can not be changed.'] })
        }
        const values = [accountId, userId, email === undefined ? null : emailForm(email), name ?? null]
        const [user] = await USER.query(tx, { text: UPDATE, values })
        const changes = differences(
          { email: before.email, name: before.name },
          { email: user!.email, name: user!.name },
        )
        if (Object.keys(changes).length > 0) {
          recordAudit(tx, deps.actor, { accountId, action: 'user.updated', targetId: userId, changes })
        }
        return { user }
      })
    } catch (error) {
      throw emailFailure(error)
    }
  }
