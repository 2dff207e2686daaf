import { managementOperation } from '../api/operation'
import { listOf } from '../api/schemas'
import { TokenRecord, tokenRecord } from './token-schema'

/** GET /manage/tokens. */
export const listTokens = managementOperation({
  method: 'GET',
  url: '/manage/tokens',
  operationId: 'listTokens',
  tag: 'Management',
  summary: 'List tokens',
  answer: {
    description: "The account's tokens, without the tokens themselves.",
    schema: listOf(TokenRecord),
  },
  run: async ({ accountId, clients, limits, now }) => {
    const { tokens } = await clients.accounts.listTokens({ accountId }, limits)
    return tokens.map((token) => tokenRecord(token, now()))
  },
})
