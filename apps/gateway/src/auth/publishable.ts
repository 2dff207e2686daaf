import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'
import type { Principal } from './token-verifier'

const EXPOSED = 'Retry-After, X-Request-Id, Idempotency-Replayed, RateLimit, RateLimit-Policy'

/** Whether a token is made to stand in a public page. */
export const isPublishable = ({ origins }: Pick<Principal, 'origins'>): boolean => origins.length > 0

/** Refuses pages of other origins than the token's, and lets those of its own read the response (CORS). */
export const refuseOrigin = (
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
  { origins }: Principal,
): ProblemError | undefined => {
  if (origin === undefined || !origins.includes(origin))
    return new ProblemError('forbidden', 'The token is not for pages of this Origin.')
  reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED })
  return undefined
}
