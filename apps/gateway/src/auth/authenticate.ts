import { grants } from '@leadwire/contracts'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { RateLimits } from '../admission/rate-limit'
import { ProblemError } from '../http/problem'
import { isPublishable, refuseOrigin } from './publishable'
import type { Principal, TokenVerifier } from './token-verifier'

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the request's token. Null on routes that need none. */
    principal: Principal
  }
}

export interface Access {
  /** Of these one is needed. */
  scopes: readonly string[]
  /** Whether a token of one webhook endpoint is taken: the route then sees to it that it reaches no other. */
  endpointTokens?: boolean
}

export type Authenticate = (access: Access) => onRequestHookHandler

/** Rejects when a token that was valid no longer is: for a request that waits. */
export type Recheck = (request: FastifyRequest, access: Access) => Promise<void>

/** Whether a token may see an endpoint: a token of one endpoint sees no other. */
export const seesEndpoint = ({ endpointId }: Pick<Principal, 'endpointId'>, id: number): boolean =>
  endpointId === undefined || endpointId === id

// RFC 6750's b64token; a scheme's name is case-insensitive (RFC 9110, 11.1).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i

const unauthenticated = (header: string | undefined) => {
  const [detail, challenge] =
    header === undefined
      ? ['A bearer token is needed.', 'Bearer']
      : ['The bearer token is not valid.', 'Bearer error="invalid_token"']
  return new ProblemError('unauthenticated', detail, { 'www-authenticate': challenge })
}

const lacksScope = ([scope = '', ...others]: readonly string[]) =>
  new ProblemError('forbidden', `The token lacks the scope ${[scope, ...others].join(' or ')}.`, {
    'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
  })

/** Bearer-token authentication (interface: Authentication; RFC 6750). */
export const createAuthenticate = (
  app: FastifyInstance,
  verifyToken: TokenVerifier,
  { countRequest, countCapture }: RateLimits,
): { authenticate: Authenticate; recheck: Recheck } => {
  app.decorateRequest('principal', null as unknown as Principal)
  const authorize = (request: FastifyRequest, verified: Principal | undefined, access: Access) => {
    if (!verified) return unauthenticated(request.headers.authorization)
    if (verified.suspended)
      return new ProblemError('account-suspended', 'The account of the token is suspended.')
    request.principal = verified
    if (!grants(verified.scopes, access.scopes)) return lacksScope(access.scopes)
    return verified.endpointId === undefined || access.endpointTokens
      ? undefined
      : new ProblemError('forbidden', 'A token of one webhook endpoint can not do this.')
  }
  const verify = ({ headers }: FastifyRequest) => {
    const token = BEARER.exec(headers.authorization ?? '')?.[1]
    return token === undefined ? undefined : verifyToken(token)
  }
  const recheck: Recheck = async (request, access) => {
    const refusal = authorize(request, await verify(request), access)
    if (refusal) throw refusal
  }
  const authenticate: Authenticate = (access) => (request, reply, done) => {
    const verified = verify(request)
    if (!countRequest && !(verified instanceof Promise) && !(verified && isPublishable(verified)))
      return done(authorize(request, verified, access))
    const authorizeAndCount = async () => {
      const found = await verified
      const ofPage = found && isPublishable(found) ? found : undefined
      // First: a page can then read each refusal.
      const foreign = ofPage && refuseOrigin(request, reply, ofPage)
      const refusal = authorize(request, found, access) ?? foreign
      // One of a suspended account is not counted.
      if (request.principal) await countRequest?.(request, reply)
      if (ofPage && !refusal) await countCapture(request, reply)
      return refusal
    }
    authorizeAndCount().then(done, done)
  }
  return { authenticate, recheck }
}
