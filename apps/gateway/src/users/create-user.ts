import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { UserRecord, userFields, userRecord } from './user-schema'

const CreateUser = Type.Object(userFields, { title: 'CreateUserRequest' })

export const createUser = operation({
  route: 'POST /manage/users',
  operationId: 'createUser',
  summary: 'Create a user',
  body: CreateUser,
  savesResponse: true,
  answer: dataOf(UserRecord, 'The new user.'),
  handler: async ({ accountId, clients, limits, valid }) => {
    const value = await valid()
    const { user } = await clients.accounts.createUser({ accountId, ...value }, limits)
    return userRecord(user!)
  },
})
