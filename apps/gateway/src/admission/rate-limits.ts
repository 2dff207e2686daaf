/*
 * Limits requests by token, by IP address, and by day. This copy of the gateway counts by token and by IP
 * address in its own memory, so two copies allow twice as many requests. leads-service counts for the daily
 * limits.
 */
import type { Socket } from 'node:net'
import rateLimit from '@fastify/rate-limit'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { ProblemError } from '../http/problem'

export interface RateLimit {
  requests: number
  /** In milliseconds. Always a whole number of seconds. */
  windowMs: number
}

/** Counts a request. Rejects with `rate-limited` if the request exceeds the limit. */
export type CountRequest = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/**
 * The maximum number of tokens or IP addresses that a limit counts. Beyond this number, the entry that was
 * idle for the longest time is deleted, even if this entry has reached its limit.
 */
const MAX_COUNTED = 20_000

/**
 * Identifies a visitor for counting requests: an IPv4 address, the /64 of an IPv6 address, or a connection.
 */
export type Source = string | Socket

/**
 * Returns an IPv4 address as it is. Returns the /64 of an IPv6 address, because one visitor has all addresses
 * of a /64.
 */
const findNetwork = (ip: string): string => {
  // `ip` is not a valid address if the connection was closed already.
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}

/**
 * Returns whether an IP address is public. A private address may belong to a proxy that all clients share.
 */
const isPublic = (ip: string): boolean => ipaddr.isValid(ip) && ipaddr.process(ip).range() === 'unicast'

/**
 * Returns whether a request was forwarded by a proxy that is missing in TRUSTED_PROXIES. Only a sender in an
 * internal network counts as a proxy, because anybody on the Internet may send forwarding headers.
 */
const isFromUnknownProxy = ({ headers, ip, raw }: FastifyRequest): boolean => {
  const peer = raw.socket.remoteAddress ?? ''
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
  return isForwarded && ip === peer && ipaddr.isValid(peer) && !isPublic(peer)
}

/**
 * Identifies the visitor who sent a request. Behind an unknown proxy all visitors have the same IP address,
 * so each connection counts as one visitor.
 */
export const findSource = (request: FastifyRequest): Source =>
  isFromUnknownProxy(request) ? request.raw.socket : findNetwork(request.ip)

interface Window {
  count: number
  /** When the window ends, in milliseconds of the monotonic clock. */
  endsAt: number
}

/** Makes the limit of requests with wrong tokens. The limit counts public IP addresses (IPv6 by /64). */
const createWrongTokenLimit = ({ requests, windowMs }: RateLimit, now: () => number) => {
  const windows = new LRUCache<string, Window>({ max: MAX_COUNTED })

  const findWindow = (ip: string): Window | undefined => {
    const window = windows.get(findNetwork(ip))
    return window && window.endsAt > now() ? window : undefined
  }

  return {
    /** Counts a request with a wrong token. */
    count: ({ ip }: FastifyRequest): void => {
      if (!isPublic(ip)) return
      const window = findWindow(ip) ?? { count: 0, endsAt: now() + windowMs }
      window.count += 1
      windows.set(findNetwork(ip), window)
    },
    /**
     * Returns the error if the request's IP address has sent too many wrong tokens, otherwise undefined. The
     * caller must ignore the error if the request's token was valid when this copy last verified the token.
     */
    refuse: ({ ip }: FastifyRequest): ProblemError | undefined => {
      // Usually no IP address is counted. In this case, does not parse the IP address of the request.
      const window = windows.size > 0 ? findWindow(ip) : undefined
      if (!window || window.count < requests) return undefined
      return new ProblemError(
        'rate-limited',
        `The address may send ${requests} requests with wrong tokens in ${windowMs / 1000} seconds.`,
        { 'retry-after': String(Math.ceil((window.endsAt - now()) / 1000)) },
      )
    },
  }
}

interface Limiter extends RateLimit {
  /** The name of the limit in the headers of responses. */
  name: string
  countedBy: 'token' | 'address'
}

/**
 * Makes the function that counts requests by token or IP address. Each counted response shows how many
 * requests are left.
 */
const createLimiter = (app: FastifyInstance, limiter: Limiter): CountRequest => {
  const { name, countedBy, requests, windowMs } = limiter
  const readToken = ({ principal }: FastifyRequest) => principal.tokenId
  let count: ReturnType<FastifyInstance['createRateLimit']>
  // Passes the options in a variable. In a literal, TypeScript would refuse `cache`, because the library's
  // type lacks this option.
  const options = {
    max: requests,
    timeWindow: windowMs,
    cache: MAX_COUNTED,
    ...(countedBy === 'token' && { keyGenerator: readToken }),
  }
  app.after(() => {
    count = app.createRateLimit(options)
  })
  return async (request, reply) => {
    const counted = await count(request)
    if (counted.isAllowed) return
    // The headers follow draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4.
    reply.header('ratelimit-policy', `"${name}";q=${requests};w=${windowMs / 1000}`)
    reply.header('ratelimit', `"${name}";r=${counted.remaining};t=${counted.ttlInSeconds}`)
    if (!counted.isExceeded) return
    throw new ProblemError(
      'rate-limited',
      `The ${countedBy} may send ${requests} requests in ${windowMs / 1000} seconds.`,
      { 'retry-after': String(counted.ttlInSeconds) },
    )
  }
}

/** How many sign-in links an IP address may request from this copy. */
const SIGN_IN_RATE: RateLimit = { requests: 20, windowMs: 600_000 }

/**
 * How many requests an IP address may send to sign in with the identity provider. A sign-in takes two
 * requests. The limit is far above SIGN_IN_RATE, because a whole office may sign in from one IP address each
 * morning, and such a sign-in sends no e-mail.
 */
const SINGLE_SIGN_ON_RATE: RateLimit = { requests: 600, windowMs: 600_000 }

/** Makes the limits from the operator's settings. */
export const createRateLimits = (
  app: FastifyInstance,
  config: { RATE_LIMIT: RateLimit | undefined; CAPTURE_RATE: RateLimit; WRONG_TOKEN_RATE: RateLimit },
  now: () => number,
) => {
  const { RATE_LIMIT, CAPTURE_RATE, WRONG_TOKEN_RATE } = config
  // Counts IPv6 addresses by /64, because one visitor has all addresses of a /64.
  app.register(rateLimit, { global: false, ipv6Subnet: 64 })
  return {
    /** Counts a request with a known token. Undefined if the operator has set no limit. */
    countRequest: RATE_LIMIT && createLimiter(app, { name: 'default', countedBy: 'token', ...RATE_LIMIT }),
    /** Counts a request with a publishable token. */
    countCapture: createLimiter(app, { name: 'capture', countedBy: 'address', ...CAPTURE_RATE }),
    /** Counts a preflight, separately from the request that the page sends after the preflight. */
    countPreflight: createLimiter(app, { name: 'capture', countedBy: 'address', ...CAPTURE_RATE }),
    /** Counts a request for a sign-in link. leads-service also limits the links of each user. */
    countSignIn: createLimiter(app, { name: 'sign-in', countedBy: 'address', ...SIGN_IN_RATE }),
    /** Counts a request to sign in with the identity provider. */
    countSingleSignOn: createLimiter(app, {
      name: 'single-sign-on',
      countedBy: 'address',
      ...SINGLE_SIGN_ON_RATE,
    }),
    wrongTokens: createWrongTokenLimit(WRONG_TOKEN_RATE, now),
  }
}

export type RateLimits = ReturnType<typeof createRateLimits>

const DAY_S = 86_400

/**
 * Runs work for which leads-service enforces a daily limit. If leads-service refuses the work because of this
 * limit, adds the RateLimit headers to the response. Rethrows all errors.
 */
export const withDailyLimit = async <Result>(
  reply: FastifyReply,
  { name, quota, unit }: { name: string; quota: number; unit?: 'content-bytes' },
  work: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'rate_limited') {
      // The headers follow draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4.
      const counted = unit === undefined ? '' : `;qu="${unit}"`
      reply.header('ratelimit-policy', `"${name}";q=${quota}${counted};w=${DAY_S}`)
      reply.header('ratelimit', `"${name}";r=0;t=${error.retryAfterS}`)
    }
    throw error
  }
}
