import type { Actor, CreateUserRequest, CreateUserResponse } from '@leadwire/contracts'
import {
  type Database,
  differences,
  recordAudit,
  ServiceError,
  violatedConstraint,
} from '@leadwire/service-kit'
import { errorsOf, isId, nameErrors, refuse } from '../arguments'
import { emailForm } from '../contacts/email-form'
import { emailErrors, emailFailure } from './user-email'
import { USER } from './user-row'

const INSERT = `INSERT INTO users (account_id, email, name) VALUES ($1, $2, $3) RETURNING ${USER.columns}`

/** Makes a user that leads and appointments can be assigned to. An e-mail is there once per account, whatever its case or the spelling of its domain. */
export const createUser =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId, email, name }: CreateUserRequest): Promise<CreateUserResponse> => {
    refuse({ ...errorsOf({ account_id: isId(accountId) }), ...nameErrors(name), ...emailErrors(email) })
    try {
      return await deps.database.transaction(async (tx) => {
        const [user] = await USER.query(tx, { text: INSERT, values: [accountId, emailForm(email), name] })
        const changes = differences({}, { email: user!.email, name })
        recordAudit(tx, deps.actor, { accountId, action: 'user.created', targetId: user!.id, changes })
        return { user }
      })
    } catch (error) {
      if (violatedConstraint(error) === 'users_account_id_fkey')
        throw new ServiceError('not_found', 'There is no such account.')
      throw emailFailure(error)
    }
  }
