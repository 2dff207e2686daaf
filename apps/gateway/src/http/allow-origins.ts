import cors, { type FastifyCorsOptionsDelegateCallback } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'

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
