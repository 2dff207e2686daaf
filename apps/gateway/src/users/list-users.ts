import { managementOperation } from '../api/operation'
import { listOf } from '../api/schemas'
import { UserRecord, userRecord } from './user-schema'

/** GET /manage/users. */
export const listUsers = managementOperation({
  method: 'GET',
  url: '/manage/users',
  operationId: 'listUsers',
  tag: 'Management',
  summary: 'List users',
  answer: {
    description: "The account's users, without those who were removed.",
    schema: listOf(UserRecord),
  },
  run: async ({ accountId, clients, limits }) => {
    const { users } = await clients.accounts.listUsers({ accountId }, limits)
    return users.map(userRecord)
  },
})
