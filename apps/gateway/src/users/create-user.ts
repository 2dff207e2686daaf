import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { managementOperation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { UserRecord, userFields, userRecord } from './user-schema'

const CreateUser = Type.Object(userFields, { title: 'CreateUserRequest' })

/** POST /manage/users. */
export const createUser = managementOperation({
  method: 'POST',
  url: '/manage/users',
  operationId: 'createUser',
  tag: 'Management',
  summary: 'Create a user',
  body: CreateUser,
  answer: { description: 'The new user.', schema: dataOf(UserRecord) },
  run: async ({ accountId, clients, limits, check }) => {
    const { value, faults } = check()
    if (faults) throw ServiceError.invalid(faults)
    const { user } = await clients.accounts.createUser({ accountId, ...value }, limits)
    return userRecord(user!)
  },
})
