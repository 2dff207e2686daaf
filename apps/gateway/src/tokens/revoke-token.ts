import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { TokenRecord, tokenRecord } from './token-schema'

export const revokeToken = operation({
  route: 'DELETE /manage/tokens/:id',
  operationId: 'revokeToken',
  summary: 'Revoke a token',
  description: 'It stops working everywhere within a second.',
  answer: dataOf(TokenRecord, 'The revoked token.'),
  handler: async ({ pathId, accountId, clients, limits, now }) => {
    const { token } = await clients.accounts.revokeToken({ accountId, tokenId: pathId() }, limits)
    return tokenRecord(token!, now())
  },
})
