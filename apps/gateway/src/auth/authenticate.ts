import { INCLUDED_IN, type Scope } from '@leadwire/contracts'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { CountRequest } from '../admission/rate-limit'
import { ProblemError } from '../http/problem'
import type { Principal, TokenVerifier } from './token-verifier'

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the request's token. Null on routes that need none. */
    principal: Principal
  }
}

/** Makes the hook of a route that needs a token with the scope. */
export type Authenticate = (scope: Scope) => onRequestHookHandler

/** Rejects when a token that was valid no longer is: for a request that waits. */
export type Recheck = (request: FastifyRequest, scope: Scope) => Promise<void>

/** `leads` includes `leads:read`, `manage` includes `events:read`. */
export const grants = (scopes: string[], scope: Scope) => {
  const wider = INCLUDED_IN[scope]
  return scopes.includes(scope) || (wider !== undefined && scopes.includes(wider))
}

// RFC 6750's b64token; a scheme's name is case-insensitive (RFC 9110, 11.1).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i

const unauthenticated = (header: string | undefined) => {
  const [detail, challenge] =
    header === undefined
      ? ['A bearer token is needed.', 'Bearer']
      : ['The bearer token is not valid.', 'Bearer error="invalid_token"']
  return new ProblemError('unauthenticated', detail, { 'www-authenticate': challenge })
}

const lacksScope = (scope: Scope) =>
  new ProblemError('forbidden', `The token lacks the scope ${scope}.`, {
    'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
  })

/** Bearer-token authentication (interface: Authentication; RFC 6750). */
export const createAuthenticate = (
  app: FastifyInstance,
  verifyToken: TokenVerifier,
  countRequest?: CountRequest,
): { authenticate: Authenticate; recheck: Recheck } => {
  app.decorateRequest('principal', null as unknown as Principal)
  const authorize = (request: FastifyRequest, verified: Principal | undefined, scope: Scope) => {
    if (!verified) return unauthenticated(request.headers.authorization)
    if (verified.suspended)
      return new ProblemError('account-suspended', 'The account of the token is suspended.')
    request.principal = verified
    return grants(verified.scopes, scope) ? undefined : lacksScope(scope)
  }
  const verify = ({ headers }: FastifyRequest) => {
    const token = BEARER.exec(headers.authorization ?? '')?.[1]
    return token === undefined ? undefined : verifyToken(token)
  }
  const recheck: Recheck = async (request, scope) => {
    const refusal = authorize(request, await verify(request), scope)
    if (refusal) throw refusal
  }
  const authenticate: Authenticate = (scope) => (request, reply, done) => {
    const verified = verify(request)
    if (!countRequest && !(verified instanceof Promise)) return done(authorize(request, verified, scope))
    const authorizeAndCount = async () => {
      const found = await verified
      const refusal = authorize(request, found, scope)
      if (found) await countRequest?.(request, reply)
      return refusal
    }
    authorizeAndCount().then(done, done)
  }
  return { authenticate, recheck }
}
