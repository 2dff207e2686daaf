import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { UserRecord, userRecord } from './user-schema'

export const removeUser = operation({
  route: 'DELETE /manage/users/:id',
  operationId: 'removeUser',
  summary: 'Remove a user',
  description:
    'The user is assigned to nothing more and gets no more notifications, and its e-mail is free for another one. Leads, appointments and callbacks that it was assigned to keep its id, by which it can still be retrieved.',
  answer: dataOf(UserRecord, 'The removed user.'),
  handler: async ({ pathId, accountId, clients, limits }) => {
    const { user } = await clients.accounts.removeUser({ accountId, userId: pathId() }, limits)
    return userRecord(user!)
  },
})
