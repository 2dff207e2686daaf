import cors, { type FastifyCorsOptionsDelegateCallback } from '@fastify/cors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const OPTIONS = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  exposedHeaders:
    'ETag, Retry-After, X-Request-Id, Idempotency-Replayed, Token-Expires-At, Allow, RateLimit, RateLimit-Policy',
  // In seconds. The maximum that Chromium accepts.
  maxAge: 7200,
}

const KNOWN_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id, traceparent'

/**
 * Returns the request headers that a page may send: the known headers, and all headers that the preflight
 * asks for. Libraries add headers for tracing and CSRF. All headers are safe, because the API uses no
 * cookies.
 */
const allowHeaders = ({ headers }: FastifyRequest): string => {
  const asked = headers['access-control-request-headers']
  return asked ? `${KNOWN_HEADERS}, ${asked}` : KNOWN_HEADERS
}

const isPreflight = ({ method, headers }: FastifyRequest) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined

// The paths that accept publishable tokens.
const CAPTURES = /^\/(leads|capture\/[^/?]+(\/stamp)?)\/?(\?|$)/

/**
 * Responds to preflights from the origins of publishable tokens. Call this function before `allowOrigins`.
 * Otherwise `allowOrigins` would respond to these preflights first.
 */
export const answerCapturePreflights = (
  app: FastifyInstance,
  isKnown: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>,
): void => {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isPreflight(request) || !CAPTURES.test(request.url)) return done()
    // A cache must not serve this response, even a refusal, to a page of another origin.
    reply.header('vary', 'Origin')
    isKnown(request, reply).then((known) => {
      if (!known) return done()
      reply.code(204).headers({
        'access-control-allow-origin': request.headers.origin,
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': allowHeaders(request),
        'access-control-max-age': OPTIONS.maxAge,
      })
      reply.send()
    }, done)
  })
}

/**
 * Lets pages of `origins` use the API (CORS). `*` allows all origins. Call this function before you add hooks
 * that may refuse a request, because a page cannot read an error that an earlier hook throws. Also call this
 * function before `recordMethods`, because the CORS plugin adds a route that is not part of the API.
 */
export const allowOrigins = (app: FastifyInstance, origins: string[]): void => {
  const origin = origins.includes('*') ? '*' : origins
  const delegator: FastifyCorsOptionsDelegateCallback = (request, answer) =>
    answer(null, {
      ...OPTIONS,
      allowedHeaders: allowHeaders(request),
      origin,
      preflight: isPreflight(request),
    })
  // Calls the plugin instead of registering it, because the hooks of a registered plugin would run after all
  // hooks of `app` itself.
  cors(app, { delegator }, (error) => {
    if (error) throw error
  })
}
