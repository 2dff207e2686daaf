import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { UserRecord, userFields, userRecord } from './user-schema'

const UpdateUser = Type.Partial(Type.Object(userFields), { title: 'UpdateUserRequest' })

export const updateUser = operation({
  route: 'PATCH /manage/users/:id',
  operationId: 'updateUser',
  summary: 'Update a user',
  description: 'Changes what is given and leaves the rest. A removed user can not be changed (422).',
  body: UpdateUser,
  answer: dataOf(UserRecord, 'The user as it is now.'),
  handler: async ({ pathId, accountId, clients, limits, valid }) => {
    const key = { accountId, userId: pathId() }
    const value = await valid(async () => {
      await clients.accounts.retrieveUser(key, limits)
      return {}
    })
    const { user } = await clients.accounts.updateUser({ ...key, ...value }, limits)
    return userRecord(user!)
  },
})
