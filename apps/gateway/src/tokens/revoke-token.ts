import { managementOperation } from '../api/operation'
import { pathId } from '../api/path-id'
import { dataOf, IdParams } from '../api/schemas'
import { TokenRecord, tokenRecord } from './token-schema'

/** DELETE /manage/tokens/:id. */
export const revokeToken = managementOperation({
  method: 'DELETE',
  url: '/manage/tokens/:id',
  operationId: 'revokeToken',
  tag: 'Management',
  summary: 'Revoke a token',
  description: 'It stops working everywhere within a second.',
  params: IdParams,
  answer: { description: 'The revoked token.', schema: dataOf(TokenRecord) },
  run: async ({ request, accountId, clients, limits, now }) => {
    const { token } = await clients.accounts.revokeToken({ accountId, tokenId: pathId(request) }, limits)
    return tokenRecord(token!, now())
  },
})
