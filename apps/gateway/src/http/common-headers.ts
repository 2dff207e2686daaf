import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Lifecycle } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const SANE = /^[A-Za-z0-9_-]{1,128}$/

/** Returns the X-Request-Id of a request if it is well-formed, otherwise a new one. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID()
}

/**
 * Sets the common headers of responses. Forbids caching of the responses to authenticated requests, except on
 * routes that set Cache-Control. During a drain, each response also closes its connection, so that the client
 * moves to another copy of the gateway.
 */
export const commonHeaders = (app: FastifyInstance, lifecycle: Lifecycle): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    const { principal } = request
    if (principal?.endsSoonAt) reply.header('token-expires-at', principal.endsSoonAt)
    // Keeps a value that the route has set.
    if (principal && !reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    if (lifecycle.signal.aborted) reply.header('connection', 'close')
    done(null, payload)
  })
}
