import type { Lifecycle } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

/** Headers that every answer carries. In a drain each answer also ends its connection, so that clients move on. */
export const commonHeaders = (app: FastifyInstance, lifecycle: Lifecycle): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    const { principal } = request
    // Clients learn that they need another token before theirs is refused.
    if (principal?.endsSoonAt) reply.header('token-expires-at', principal.endsSoonAt)
    // What a token opened belongs in no shared cache; a route that knows better has said so already.
    if (principal && !reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
    if (lifecycle.draining) reply.header('connection', 'close')
    done(null, payload)
  })
}
