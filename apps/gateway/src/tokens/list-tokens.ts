import { operation } from '../api/operation'
import { listOf } from '../api/schemas'
import { TokenRecord, tokenRecord } from './token-schema'

export const listTokens = operation({
  route: 'GET /manage/tokens',
  operationId: 'listTokens',
  summary: 'List tokens',
  answer: listOf(TokenRecord, "The account's tokens, without the tokens themselves."),
  handler: async ({ accountId, clients, limits, now }) => {
    const { tokens } = await clients.accounts.listTokens({ accountId }, limits)
    return tokens.map((token) => tokenRecord(token, now()))
  },
})
