import type { VerifiedToken } from '@leadwire/contracts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'
import { bearerToken } from './bearer-token'
import type { TokenVerifier } from './token-verifier'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose token the request carries. Null on routes that need none. */
    principal: VerifiedToken
  }
}

export const SCOPES = ['leads', 'leads:read', 'manage'] as const

export type Scope = (typeof SCOPES)[number]

/** Makes the onRequest hook of a route that needs a token with the given scope. */
export type Authenticate = (scope: Scope) => (request: FastifyRequest) => Promise<void>

// `leads` includes `leads:read`.
const grants = (scopes: string[], scope: Scope) =>
  scopes.includes(scope) || (scope === 'leads:read' && scopes.includes('leads'))

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

/** Bearer-token authentication (interface: Authentication; RFC 6750): 401 without a valid token, 403 without the scope. */
export const createAuthenticate = (app: FastifyInstance, verifyToken: TokenVerifier): Authenticate => {
  app.decorateRequest('principal', null as unknown as VerifiedToken)
  return (scope) => async (request) => {
    const { authorization } = request.headers
    const token = bearerToken(authorization)
    const verified = token === undefined ? undefined : await verifyToken(token)
    if (!verified) throw unauthenticated(authorization)
    request.principal = verified
    if (!grants(verified.scopes, scope)) throw lacksScope(scope)
  }
}
