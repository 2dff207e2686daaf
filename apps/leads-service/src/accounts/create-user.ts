import { type CreateUserRequest, type CreateUserResponse, isEmail } from '@leadwire/contracts'
import { type Database, ServiceError, violatedConstraint } from '@leadwire/service-kit'
import { faultsOf, isId, nameFaults, refuse } from '../arguments'
import { USER } from './account-rows'

const INSERT = `INSERT INTO users (account_id, email, name) VALUES ($1, $2, $3) RETURNING ${USER.columns}`

/** Makes a user that leads and appointments can be assigned to. An e-mail is there once per account, whatever its case. */
export const createUser =
  (deps: { database: Database }) =>
  async ({ accountId, email, name }: CreateUserRequest): Promise<CreateUserResponse> => {
    refuse({
      ...faultsOf({ account_id: isId(accountId) }),
      ...nameFaults(name),
      ...(!isEmail(email) && { email: ['The email must be a valid email address.'] }),
    })
    try {
      const [user] = await USER.query(deps.database, { text: INSERT, values: [accountId, email, name] })
      return { user }
    } catch (error) {
      switch (violatedConstraint(error)) {
        case 'users_email_once_per_account':
          throw ServiceError.invalid({ email: ['The email has already been taken.'] })
        case 'users_account_id_fkey':
          throw new ServiceError('not_found', 'There is no such account.')
        default:
          throw error
      }
    }
  }
