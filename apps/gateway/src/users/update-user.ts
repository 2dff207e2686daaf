import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { UserRecord, userFields, userRecord } from './user-schema'

const UpdateUser = Type.Partial(Type.Object(userFields), { title: 'UpdateUserRequest' })

/** PATCH /manage/users/:id. */
export const updateUser = managementOperation({
  method: 'PATCH',
  url: '/manage/users/:id',
  operationId: 'updateUser',
  tag: 'Management',
  summary: 'Update a user',
  description: 'Changes what is given and leaves the rest. A removed user can not be changed (422).',
  params: IdParams,
  body: UpdateUser,
  answer: { description: 'The user as it is now.', schema: dataOf(UserRecord) },
  run: async ({ request, accountId, clients, limits, check }) => {
    const key = { accountId, userId: pathId(request) }
    const { value, faults } = check()
    if (faults) {
      // A missing user is a 404 whatever else is wrong: then the look-up throws.
      await clients.accounts.retrieveUser(key, limits)
      throw ServiceError.invalid(faults)
    }
    const { user } = await clients.accounts.updateUser({ ...key, ...value }, limits)
    return userRecord(user!)
  },
})
