import type { UpdateUserRequest, UpdateUserResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { faultsOf, isId, nameFaults, refuse } from '../arguments'
import { USER } from './account-rows'
import { retrieveUser } from './retrieve-user'
import { emailFailure, emailFaults } from './user-email'

const UPDATE = `
  UPDATE users SET email = coalesce($3, email), name = coalesce($4, name)
  WHERE account_id = $1 AND id = $2 AND removed_at IS NULL
  RETURNING ${USER.columns}`

/** Changes what is given of a user. One that was removed is refused: it is there to be seen, and not to be changed. */
export const updateUser =
  (deps: { database: Database }) =>
  async ({ accountId, userId, email, name }: UpdateUserRequest): Promise<UpdateUserResponse> => {
    refuse({
      ...faultsOf({ account_id: isId(accountId), user_id: isId(userId) }),
      ...(name !== undefined && nameFaults(name)),
      ...(email !== undefined && emailFaults(email)),
    })
    const values = [accountId, userId, email ?? null, name ?? null]
    const [user] = await USER.query(deps.database, { text: UPDATE, values }).catch((error: unknown) => {
      throw emailFailure(error)
    })
    if (user) return { user }
    await retrieveUser(deps)({ accountId, userId })
    throw ServiceError.invalid({ id: ['The user was removed and can not be changed.'] })
  }
