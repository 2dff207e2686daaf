import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdParams } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { pathId } from '../http/path-id'
import { sendData } from '../http/send-json'
import { tokenRecord } from './token-schema'

/** DELETE /manage/tokens/:id. */
export const revokeToken = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.delete(
    '/manage/tokens/:id',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'revokeToken',
        tag: 'Management',
        summary: 'Revoke a token',
        description: 'It stops working everywhere within a second.',
        scope: 'manage',
        params: IdParams,
        answer: { description: 'The revoked token.', schema: dataOf({ $ref: 'Token#' }) },
        problems: ['not-found'],
      }),
    },
    async (request, reply) => {
      const { accountId } = request.principal
      const { token } = await clients.accounts.revokeToken(
        { accountId, tokenId: pathId(request) },
        limitsOf(reply),
      )
      return sendData(reply, tokenRecord(token!))
    },
  )
}
