/*
 * Authentication by a bearer token (RFC 6750; the lead API, section Authentication), or by the session of
 * a person who has signed in. A session is a token, too: its secret is in a cookie, which counts only if
 * there is no Authorization header. A request passes these steps:
 *
 * 1. A request is refused if its IP address has sent too many wrong tokens. A request passes this step anyway
 *    if its token was valid when this copy last verified the token.
 * 2. leads-service verifies the token. The result is reused for 500 ms (`createTokenVerifier`).
 * 3. The token must be valid, and its account must not be suspended. A session must be used by a page of
 *    this API (`own-pages.ts`). The token needs a scope of the route. A token that is restricted to one
 *    endpoint also needs a route that accepts such tokens.
 * 4. A page that uses a publishable token must have one of the token's origins. The code checks the origin
 *    before step 3 and then sets the CORS headers, so that the page can read a refusal by step 3. If both
 *    steps refuse the request, the response reports step 3.
 * 5. The request is counted by its token. A request with a publishable token is also counted by its IP
 *    address.
 */
import { hash } from 'node:crypto'
import { grants, type VerifiedToken } from '@leadwire/contracts'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { RateLimits } from '../admission/rate-limits'
import { ProblemError } from '../http/problem'
import type { Cookies } from './cookies'
import { type FindSender, mayUseSession } from './own-pages'

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the request's token. Null on routes that need no token. */
    principal: Principal
    /** The id of the request's token, even if the request is refused. Undefined if the token is unknown. */
    tokenId: number | undefined
  }
}

/** The owner of a token. */
export interface Principal extends VerifiedToken {
  /** Whether the token may be used in a public page, where anybody can read it. */
  isPublishable: boolean
  /** When the token expires. Undefined unless the token expires within 14 days. */
  endsSoonAt: string | undefined
  /**
   * Returns PostgreSQL's time in milliseconds since the epoch: the time of the verification, plus the time
   * that has passed in this process since then. The gateway judges every expiry by this clock, never by the
   * clock of this process.
   */
  databaseNow: () => number
}

const FRESH_MS = 500
const MAX_CACHED = 20_000
const SOON_MS = 14 * 24 * 3_600_000

/** Returns whether a token expires within 14 days. Both times are in milliseconds since the epoch. */
export const endsSoon = (expiresAtMs: number | undefined, now: number): boolean =>
  expiresAtMs !== undefined && expiresAtMs > now && expiresAtMs <= now + SOON_MS

type Verified = Principal | undefined

interface Verification {
  result: Verified | Promise<Verified>
  startedAt: number
  /** Whether the token was valid when its latest verification ended. */
  wasValid: boolean
}

export interface TokenVerifier {
  /**
   * Finds the owner of a token. Returns a cached result without a promise, so that most requests need not
   * wait.
   */
  (token: string): Verified | Promise<Verified>
  /** Returns whether the token was valid when this copy last verified it, however long ago. */
  wasValid: (token: string) => boolean
}

/**
 * Makes the function that finds the owner of a token. The function returns undefined if the token is
 * unknown, revoked or expired. Each result, even a negative one, is reused for 500 ms from the start of its
 * verification, so that a revocation takes effect everywhere within a second. `verify` receives the SHA-256
 * of the token.
 */
export const createTokenVerifier = (options: {
  verify: (hash: Buffer) => Promise<VerifiedToken | undefined>
  /** A monotonic clock, in milliseconds. */
  now: () => number
}): TokenVerifier => {
  const { now } = options
  const cache = new LRUCache<string, Verification>({ max: MAX_CACHED })

  const describePrincipal = (found: VerifiedToken, startedAt: number): Principal => {
    const databaseNow = () => Math.floor(found.verifiedAtMs + now() - startedAt)
    const endsSoonAt = endsSoon(found.expiresAtMs, databaseNow()) ? found.expiresAt : undefined
    return Object.assign(found, { isPublishable: found.origins.length > 0, endsSoonAt, databaseNow })
  }

  const verify = (key: string): Verification => {
    const startedAt = now()
    const verified = options.verify(Buffer.from(key, 'base64')).then((found) => {
      verification.result = found && describePrincipal(found, startedAt)
      verification.wasValid = found !== undefined
      return verification.result
    })
    const wasValid = cache.peek(key)?.wasValid ?? false
    const verification: Verification = { result: verified, startedAt, wasValid }
    cache.set(key, verification)
    // If leads-service did not respond, the next request verifies the token again. The entry stays in the
    // cache, because the entry records whether the token was valid.
    verified.catch(() => {
      verification.startedAt = Number.NEGATIVE_INFINITY
    })
    return verification
  }

  const unlessExpired = (verified: Verified): Verified => {
    if (verified?.expiresAtMs === undefined) return verified
    return verified.expiresAtMs > verified.databaseNow() ? verified : undefined
  }

  const hashToken = (token: string) => hash('sha256', token, 'base64')

  const verifyToken = (token: string) => {
    const key = hashToken(token)
    const cached = cache.get(key)
    const age = cached ? now() - cached.startedAt : Number.POSITIVE_INFINITY
    const { result } = cached && age < FRESH_MS ? cached : verify(key)
    return result instanceof Promise ? result.then(unlessExpired) : unlessExpired(result)
  }
  const wasValid = (token: string) => cache.peek(hashToken(token))?.wasValid ?? false
  return Object.assign(verifyToken, { wasValid })
}

/**
 * Returns whether a token may see an endpoint. A token that is restricted to one endpoint sees only this
 * endpoint.
 */
export const seesEndpoint = ({ endpointId }: Pick<Principal, 'endpointId'>, id: number): boolean =>
  endpointId === undefined || endpointId === id

const EXPOSED_HEADERS = 'Retry-After, X-Request-Id, Idempotency-Replayed, RateLimit, RateLimit-Policy'

/**
 * Returns the error if the token does not list the origin of the request. Otherwise sets the CORS headers
 * that let the page read the response.
 */
export const refuseOrigin = (
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
  { origins }: Principal,
): ProblemError | undefined => {
  if (origin === undefined || !origins.includes(origin))
    return new ProblemError(
      'forbidden',
      'This token may not be used from this origin. Use a token that lists the origin.',
    )
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED_HEADERS,
  })
  return undefined
}

// The token is a b64token (RFC 6750). The name of the scheme is case-insensitive (RFC 9110, 11.1).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i

const SEND = 'Send "Authorization: Bearer", a space and the token.'

// Returns the 401 for a request. The challenge in the response has an error code only if the request has a
// bearer token (RFC 6750, 3.1).
const refuseAuthorization = (header: string | undefined): ProblemError => {
  const refuse = (detail: string, challenge = 'Bearer') =>
    new ProblemError('unauthenticated', detail, { 'www-authenticate': challenge })
  if (header === undefined) return refuse(`A bearer token is needed. ${SEND}`)
  const [scheme = '', ...rest] = header.trim().split(/ +/)
  if (/^bearer$/i.test(scheme)) {
    if (rest.length === 0) return refuse(`The Authorization header has no token. ${SEND}`)
    const detail = BEARER.test(header)
      ? 'The bearer token is not valid.'
      : 'The bearer token is malformed. Send it alone, without quotes, brackets or other text.'
    return refuse(detail, 'Bearer error="invalid_token"')
  }
  if (rest.length === 0) return refuse(`The Authorization header has no scheme. ${SEND}`)
  return refuse(`The scheme of the Authorization header must be Bearer. ${SEND}`)
}

const refuseSession = () =>
  new ProblemError('unauthenticated', 'The session has ended. Sign in again.', {
    'www-authenticate': 'Bearer error="invalid_token"',
  })

const lacksScope = ([scope = '', ...others]: readonly string[]) =>
  new ProblemError('forbidden', `The token lacks the scope ${[scope, ...others].join(' or ')}.`, {
    'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
  })

/** The tokens that a route accepts. */
export interface Access {
  /** The token needs one of these scopes. */
  scopes: readonly string[]
  /**
   * Whether the route accepts a token that is restricted to one webhook endpoint. The route must then
   * ensure that the token reaches no other endpoint.
   */
  endpointTokens?: boolean
}

export type Authenticate = (access: Access) => onRequestHookHandler

/** Verifies the token of a long request again. Rejects if the token is no longer valid. */
export type Recheck = (request: FastifyRequest, access: Access) => Promise<void>

/**
 * Makes the hook that authenticates the requests of a route, and the function that verifies a token again. A
 * token of any kind in the cookie would work as a session, but only sessions are ever put there.
 */
export const createAuthenticate = (
  app: FastifyInstance,
  verifyToken: TokenVerifier,
  { countRequest, countCapture, wrongTokens }: RateLimits,
  { cookies, findSender }: { cookies: Cookies; findSender: FindSender },
): { authenticate: Authenticate; recheck: Recheck } => {
  app.decorateRequest('principal', null as unknown as Principal)
  app.decorateRequest('tokenId', undefined)
  const hasSessionCookie = (request: FastifyRequest) =>
    request.headers.authorization === undefined && cookies.read(request, 'session') !== undefined
  const findToken = (request: FastifyRequest) => {
    const { authorization } = request.headers
    return authorization === undefined ? cookies.read(request, 'session') : BEARER.exec(authorization)?.[1]
  }

  const refuseAddress = (request: FastifyRequest): ProblemError | undefined => {
    const refusal = wrongTokens.refuse(request)
    return refusal && !verifyToken.wasValid(findToken(request) ?? '') ? refusal : undefined
  }

  const verify = (request: FastifyRequest) => {
    const token = findToken(request)
    return token === undefined ? undefined : verifyToken(token)
  }

  const refuseUnknown = (request: FastifyRequest): ProblemError => {
    if (findToken(request) !== undefined) wrongTokens.count(request)
    return hasSessionCookie(request) ? refuseSession() : refuseAuthorization(request.headers.authorization)
  }
  const refuseForeignPage = (request: FastifyRequest): ProblemError | undefined =>
    hasSessionCookie(request) && !mayUseSession(request, findSender(request))
      ? new ProblemError(
          'forbidden',
          'A session works only for requests from the pages of this API. Programs must send a bearer token.',
        )
      : undefined
  const refuseAccess = ({ scopes, endpointId }: Principal, access: Access): ProblemError | undefined => {
    if (!grants(scopes, access.scopes)) return lacksScope(access.scopes)
    if (endpointId === undefined || access.endpointTokens) return undefined
    return new ProblemError(
      'forbidden',
      'A token that is restricted to one webhook endpoint cannot use this operation.',
    )
  }
  /** Sets the request's principal. Returns the error if the request is refused. */
  const authorize = (request: FastifyRequest, verified: Verified, access: Access) => {
    if (!verified) return refuseUnknown(request)
    const foreign = refuseForeignPage(request)
    if (foreign) return foreign
    request.tokenId = verified.tokenId
    if (verified.suspended)
      return new ProblemError('account-suspended', 'The account is suspended. Contact the operator.')
    request.principal = verified
    return refuseAccess(verified, access)
  }
  const authorizeAndCount = async (reply: FastifyReply, verifying: Promise<Verified>, access: Access) => {
    const { request } = reply
    const verified = await verifying
    // Checks the origin first, so that the page can read every later refusal.
    const foreign = verified?.isPublishable ? refuseOrigin(request, reply, verified) : undefined
    const refusal = authorize(request, verified, access) ?? foreign
    // Requests of a suspended account have no principal, and are not counted.
    if (request.principal) await countRequest?.(request, reply)
    if (verified?.isPublishable && !refusal) await countCapture(request, reply)
    return refusal
  }

  return {
    authenticate: (access) => (request, reply, done) => {
      const tooMany = refuseAddress(request)
      if (tooMany) return done(tooMany)
      const verified = verify(request)
      // Most requests have a cached token and are not counted, so they need no promise.
      if (!(verified instanceof Promise) && !verified?.isPublishable && !countRequest)
        return done(authorize(request, verified, access))
      authorizeAndCount(reply, Promise.resolve(verified), access).then(done, done)
    },
    recheck: async (request, access) => {
      const refusal = authorize(request, await verify(request), access)
      if (refusal) throw refusal
    },
  }
}
