import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { UserRecord, userRecord } from './user-schema'

/** DELETE /manage/users/:id. */
export const removeUser = managementOperation({
  method: 'DELETE',
  url: '/manage/users/:id',
  operationId: 'removeUser',
  tag: 'Management',
  summary: 'Remove a user',
  description:
    'The user is assigned to nothing more and told of nothing more, and its e-mail is free for another one. Leads, appointments and callbacks that it was assigned to keep its id, by which it can still be retrieved.',
  params: IdParams,
  answer: { description: 'The removed user.', schema: dataOf(UserRecord) },
  run: async ({ request, accountId, clients, limits }) => {
    const { user } = await clients.accounts.removeUser({ accountId, userId: pathId(request) }, limits)
    return userRecord(user!)
  },
})
