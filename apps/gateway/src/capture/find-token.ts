import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { onRequestAsyncHookHandler } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { isPublishable, refuseOrigin } from '../auth/publishable'
import { ProblemError } from '../http/problem'

export const TokenParams = Type.Object({
  token: Type.String({ description: 'A publishable token.', examples: ['lw_pub_…'] }),
})

/** Makes the hook that takes the token from the address. A page of another origin is refused; no Origin, as of a program, passes. */
export const createFindToken =
  ({ verifyToken }: Pick<Dependencies, 'verifyToken'>): onRequestAsyncHookHandler =>
  async (request, reply) => {
    const { token } = request.params as { token: string }
    const found = await verifyToken(token)
    if (!found || !isPublishable(found)) throw new ServiceError('not_found', 'There is no such token.')
    request.principal = found
    const refusal = request.headers.origin === undefined ? undefined : refuseOrigin(request, reply, found)
    if (refusal) throw refusal
    if (found.suspended) throw new ProblemError('account-suspended', 'The account of the token is suspended.')
  }
