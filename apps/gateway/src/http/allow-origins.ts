import cors, { type FastifyCorsOptionsDelegateCallback } from '@fastify/cors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const OPTIONS = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders:
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id, traceparent',
  exposedHeaders:
    'ETag, Retry-After, X-Request-Id, Idempotency-Replayed, Token-Expires-At, Allow, RateLimit, RateLimit-Policy',
  // Chromium's maximum.
  maxAge: 7200,
}

const isPreflight = ({ method, headers }: FastifyRequest) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined

// What publishable tokens are used at.
const CAPTURES = /^\/(leads|capture\/[^/?]+(\/stamp)?)\/?(\?|$)/

/**
 * Answers the preflights of pages whose origin a publishable token names. Call it before `allowOrigins`, which answers those of other
 * pages too.
 */
export const answerCapturePreflights = (
  app: FastifyInstance,
  isKnown: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>,
): void => {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isPreflight(request) || !CAPTURES.test(request.url)) return done()
    isKnown(request, reply).then((known) => {
      if (!known) return done()
      reply.code(204).headers({
        'access-control-allow-origin': request.headers.origin,
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': OPTIONS.allowedHeaders,
        'access-control-max-age': OPTIONS.maxAge,
      })
      reply.send()
    }, done)
  })
}

/**
 * Lets pages of `origins` use the API (CORS); `*` stands for all. Call it before all hooks and routes: a page cannot read an error
 * that an earlier hook throws, and the route that it adds is no address of the API.
 */
export const allowOrigins = (app: FastifyInstance, origins: string[]): void => {
  const origin = origins.includes('*') ? '*' : origins
  const delegator: FastifyCorsOptionsDelegateCallback = (request, answer) =>
    answer(null, { ...OPTIONS, origin, preflight: isPreflight(request) })
  // Called, not registered: hooks of a registered plugin would come after all hooks that are added here.
  cors(app, { delegator }, (error) => {
    if (error) throw error
  })
}
