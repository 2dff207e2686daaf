import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'

export interface RateLimit {
  requests: number
  /** Whole seconds. */
  windowMs: number
}

/** Counts a request. Rejects with rate-limited beyond the limit. */
export type CountRequest = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

// Beyond it the token or the address that was idle longest is deleted, which is never one at its limit.
const MAX_COUNTED = 20_000

/** Limits requests at this copy of the gateway. Each response says how many are left. */
export const createRateLimits = (
  app: FastifyInstance,
  { RATE_LIMIT, CAPTURE_RATE }: { RATE_LIMIT: RateLimit | undefined; CAPTURE_RATE: RateLimit },
) => {
  // By address unless a limit says otherwise, and by /64 in IPv6, of which one visitor has all addresses.
  app.register(rateLimit, { global: false, ipv6Subnet: 64 })
  const limiter = (
    name: string,
    who: string,
    { requests, windowMs }: RateLimit,
    options: { keyGenerator?: (request: FastifyRequest) => number } = {},
  ): CountRequest => {
    let count: ReturnType<FastifyInstance['createRateLimit']>
    app.after(() => {
      count = app.createRateLimit({
        ...{ max: requests, timeWindow: windowMs, cache: MAX_COUNTED },
        ...options,
      })
    })
    return async (request, reply) => {
      const counted = await count(request)
      if (counted.isAllowed) return
      // draft-ietf-httpapi-ratelimit-headers-10, 3 and 4.
      reply.header('ratelimit-policy', `"${name}";q=${requests};w=${windowMs / 1000}`)
      reply.header('ratelimit', `"${name}";r=${counted.remaining};t=${counted.ttlInSeconds}`)
      if (!counted.isExceeded) return
      throw new ProblemError(
        'rate-limited',
        `The ${who} may send ${requests} requests in ${windowMs / 1000} seconds.`,
        { 'retry-after': String(counted.ttlInSeconds) },
      )
    }
  }
  const ofToken = { keyGenerator: ({ principal }: FastifyRequest) => principal.tokenId }
  return {
    /** The request's token is known already. */
    countRequest: RATE_LIMIT && limiter('default', 'token', RATE_LIMIT, ofToken),
    /** For requests with publishable tokens. */
    countCapture: limiter('capture', 'address', CAPTURE_RATE),
    /** The same for their preflights, which are no part of it: a page sends both. */
    countPreflight: limiter('capture', 'address', CAPTURE_RATE),
  }
}

export type RateLimits = ReturnType<typeof createRateLimits>
