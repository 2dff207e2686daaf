import { operation } from '../api/operation'
import { listOf } from '../api/schemas'
import { UserRecord, userRecord } from './user-schema'

export const listUsers = operation({
  route: 'GET /manage/users',
  operationId: 'listUsers',
  summary: 'List users',
  answer: listOf(UserRecord, "The account's users, without those who were removed."),
  handler: async ({ accountId, clients, limits }) => {
    const { users } = await clients.accounts.listUsers({ accountId }, limits)
    return users.map(userRecord)
  },
})
