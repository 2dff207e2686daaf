import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf } from '../docs/shared-schemas'
import { bodyOf } from '../http/body'
import { limitsOf } from '../http/call-limits'
import { sendData } from '../http/send-json'
import { text } from '../validation/fields'
import { userRecord } from './user-schema'

const CreateUser = Type.Object({
  email: text({ format: 'email', description: 'Once per account.', examples: ['sales@example.com'] }),
  name: text({ examples: ['Grace Hopper'] }),
})

/** POST /manage/users. */
export const createUser = (
  app: FastifyInstance,
  { authenticate, clients, validation }: Dependencies,
): void => {
  const check = validation.checker(CreateUser)
  app.post(
    '/manage/users',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'createUser',
        tag: 'Management',
        summary: 'Create a user',
        scope: 'manage',
        body: CreateUser,
        answer: { description: 'The new user.', schema: dataOf({ $ref: 'User#' }) },
      }),
    },
    async (request, reply) => {
      const { value, faults } = check(bodyOf(request))
      if (faults) throw ServiceError.invalid(faults)
      const { user } = await clients.accounts.createUser(
        { accountId: request.principal.accountId, ...value },
        limitsOf(reply),
      )
      return sendData(reply, userRecord(user!))
    },
  )
}
