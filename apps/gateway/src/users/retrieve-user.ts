import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { UserRecord, userRecord } from './user-schema'

/** GET /manage/users/:id. */
export const retrieveUser = managementOperation({
  method: 'GET',
  url: '/manage/users/:id',
  operationId: 'retrieveUser',
  tag: 'Management',
  summary: 'Retrieve a user',
  description: 'Also one that was removed.',
  params: IdParams,
  answer: { description: 'The user.', schema: dataOf(UserRecord) },
  run: async ({ request, accountId, clients, limits }) => {
    const { user } = await clients.accounts.retrieveUser({ accountId, userId: pathId(request) }, limits)
    return userRecord(user!)
  },
})
