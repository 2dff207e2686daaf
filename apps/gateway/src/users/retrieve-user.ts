import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { UserRecord, userRecord } from './user-schema'

export const retrieveUser = operation({
  route: 'GET /manage/users/:id',
  operationId: 'retrieveUser',
  summary: 'Retrieve a user',
  description: 'Also one that was removed.',
  answer: dataOf(UserRecord, 'The user.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const { user } = await clients.accounts.retrieveUser({ accountId, userId: pathId() }, limits)
    return userRecord(user!)
  },
})
