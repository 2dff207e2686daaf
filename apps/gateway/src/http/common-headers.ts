import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Lifecycle } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const SANE = /^[A-Za-z0-9_-]{1,128}$/

/** The X-Request-Id of a request if it is well-formed, else a new one. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID()
}

/** Headers of every response. In a drain each response also ends its connection, so that clients go to another copy. */
export const commonHeaders = (app: FastifyInstance, lifecycle: Lifecycle): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    const { principal } = request
    if (principal?.endsSoonAt) reply.header('token-expires-at', principal.endsSoonAt)
    // A route may have set another value.
    if (principal && !reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    if (lifecycle.signal.aborted) reply.header('connection', 'close')
    done(null, payload)
  })
}
