import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { onRequestAsyncHookHandler } from 'fastify'
import type { Dependencies } from '../api/operation'
import { refuseOrigin } from '../auth/authenticate'
import { ProblemError } from '../http/problem'

export const TokenParams = Type.Object({
  token: Type.String({ description: 'A publishable token.', examples: ['lw_pub_…'] }),
})

/**
 * Makes the hook that reads and verifies the token in the path. The hook refuses an Origin that the token
 * does not list. The hook accepts a request without an Origin, because programs send no Origin.
 */
export const createFindToken =
  ({
    verifyToken,
    wrongTokens,
  }: Pick<Dependencies, 'verifyToken' | 'wrongTokens'>): onRequestAsyncHookHandler =>
  async (request, reply) => {
    const { token } = request.params as { token: string }
    const tooMany = wrongTokens.refuse(request)
    if (tooMany && !verifyToken.wasValid(token)) throw tooMany
    const found = await verifyToken(token)
    if (!found) wrongTokens.count(request)
    if (!found?.isPublishable) throw new ServiceError('not_found', 'There is no such token.')
    request.principal = found
    request.tokenId = found.tokenId
    const refusal = request.headers.origin === undefined ? undefined : refuseOrigin(request, reply, found)
    if (refusal) throw refusal
    if (found.suspended)
      throw new ProblemError('account-suspended', 'The account is suspended. Contact the operator.')
  }
