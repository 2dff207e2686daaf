import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { listOf } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendData } from '../http/send-json'
import { tokenRecord } from './token-schema'

/** GET /manage/tokens. */
export const listTokens = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.get(
    '/manage/tokens',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'listTokens',
        tag: 'Management',
        summary: 'List tokens',
        scope: 'manage',
        answer: {
          description: "The account's tokens, without the tokens themselves.",
          schema: listOf({ $ref: 'Token#' }),
        },
      }),
    },
    async (request, reply) => {
      const { tokens } = await clients.accounts.listTokens(
        { accountId: request.principal.accountId },
        limitsOf(reply),
      )
      return sendData(reply, tokens.map(tokenRecord))
    },
  )
}
