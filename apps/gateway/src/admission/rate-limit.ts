import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'

export interface RateLimit {
  requests: number
  /** Whole seconds. */
  windowMs: number
}

/** Counts a request whose token is known already. Rejects with rate-limited beyond the limit. */
export type CountRequest = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

// Beyond it the token that was idle longest is deleted, which is never one at its limit.
const MAX_TOKENS = 20_000

/** Limits the requests of each token at this copy of the gateway. Each response says how many are left. */
export const createRateLimit = (app: FastifyInstance, { requests, windowMs }: RateLimit): CountRequest => {
  app.register(rateLimit, {
    global: false,
    max: requests,
    timeWindow: windowMs,
    cache: MAX_TOKENS,
    keyGenerator: ({ principal }) => principal.tokenId,
  })
  let count: ReturnType<FastifyInstance['createRateLimit']>
  app.after(() => {
    count = app.createRateLimit()
  })
  const policy = `"default";q=${requests};w=${windowMs / 1000}`
  return async (request, reply) => {
    const counted = await count(request)
    if (counted.isAllowed) return
    // draft-ietf-httpapi-ratelimit-headers-10, 3 and 4.
    reply.header('ratelimit-policy', policy)
    reply.header('ratelimit', `"default";r=${counted.remaining};t=${counted.ttlInSeconds}`)
    if (!counted.isExceeded) return
    throw new ProblemError(
      'rate-limited',
      `The token may send ${requests} requests in ${windowMs / 1000} seconds.`,
      { 'retry-after': String(counted.ttlInSeconds) },
    )
  }
}
