import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { CountRequest } from '../admission/rate-limit'
import { ProblemError } from '../http/problem'
import type { Principal, TokenVerifier } from './token-verifier'

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the request's token. Null on routes that need none. */
    principal: Principal
  }
}

export const SCOPES = ['leads', 'leads:read', 'manage'] as const

export type Scope = (typeof SCOPES)[number]

/** Makes the hook of a route that needs a token with the scope. */
export type Authenticate = (scope: Scope) => onRequestHookHandler

/** `leads` includes `leads:read`. */
export const grants = (scopes: string[], scope: Scope) =>
  scopes.includes(scope) || (scope === 'leads:read' && scopes.includes('leads'))

// RFC 6750's b64token; a scheme's name is case-insensitive (RFC 9110, 11.1).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i

const unauthenticated = (header: string | undefined) =>
  header === undefined
    ? new ProblemError('unauthenticated', 'A bearer token is needed.', { 'www-authenticate': 'Bearer' })
    : new ProblemError('unauthenticated', 'The bearer token is not valid.', {
        'www-authenticate': 'Bearer error="invalid_token"',
      })

const lacksScope = (scope: Scope) =>
  new ProblemError('forbidden', `The token lacks the scope ${scope}.`, {
    'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
  })

const suspended = () => new ProblemError('account-suspended', 'The account of the token is suspended.')

/** Bearer-token authentication (interface: Authentication; RFC 6750): 401 without a valid token, 403 without the scope or while the account is suspended. */
export const createAuthenticate = (
  app: FastifyInstance,
  verifyToken: TokenVerifier,
  countRequest?: CountRequest,
): Authenticate => {
  app.decorateRequest('principal', null as unknown as Principal)
  const authorize = (request: FastifyRequest, verified: Principal | undefined, scope: Scope) => {
    if (!verified) return unauthenticated(request.headers.authorization)
    if (verified.suspended) return suspended()
    request.principal = verified
    return grants(verified.scopes, scope) ? undefined : lacksScope(scope)
  }
  const authorizeAndCount = async (
    { request, reply, scope }: { request: FastifyRequest; reply: FastifyReply; scope: Scope },
    verified: Principal | undefined,
  ) => {
    const refusal = authorize(request, verified, scope)
    if (verified) await countRequest?.(request, reply)
    return refusal
  }
  return (scope) => (request, reply, done) => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1]
    const verified = token === undefined ? undefined : verifyToken(token)
    if (countRequest) {
      const counted = async () => authorizeAndCount({ request, reply, scope }, await verified)
      counted().then(done, done)
    } else if (verified instanceof Promise) {
      verified.then((found) => done(authorize(request, found, scope)), done)
    } else {
      done(authorize(request, verified, scope))
    }
  }
}
