import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { listOf } from '../docs/shared-schemas'
import { limitsOf } from '../http/call-limits'
import { sendData } from '../http/send-json'
import { userRecord } from './user-schema'

/** GET /manage/users. */
export const listUsers = (app: FastifyInstance, { authenticate, clients }: Dependencies): void => {
  app.get(
    '/manage/users',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'listUsers',
        tag: 'Management',
        summary: 'List users',
        scope: 'manage',
        answer: { description: "The account's users.", schema: listOf({ $ref: 'User#' }) },
      }),
    },
    async (request, reply) => {
      const { users } = await clients.accounts.listUsers(
        { accountId: request.principal.accountId },
        limitsOf(reply),
      )
      return sendData(reply, users.map(userRecord))
    },
  )
}
