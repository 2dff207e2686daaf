import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Lifecycle } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { waitsToSend } from './expect-continue'

const DRAIN_LIMIT_BYTES = 32 * 1024 * 1024
const DRAIN_LIMIT_MS = 10_000

/** Whether a request says that it has a body. */
export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * A response may be sent before its request has been read to the end (a file that is too large, a missing token). Closing the
 * connection would reset it under a client that is still sending, and lose the response. So the rest is read and discarded, up to the
 * limits, and then the next request on the connection is answered.
 */
export const drainUnreadBodies = (app: FastifyInstance, lifecycle: Lifecycle): void => {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    const unread = !raw.complete && !raw.destroyed && hasBody(raw)
    // Fastify closes the connection after each body that it refuses, even one that was read. Pipelined requests would be lost.
    if (unread || (reply.hasHeader('connection') && !lifecycle.signal.aborted))
      reply.removeHeader('connection')
    // A client that got no `100 Continue` may not send the body. The next request would be read as the body.
    if (unread && waitsToSend(raw)) reply.header('connection', 'close')
    else if (unread) drainRest(raw, reply.raw)
    done(null, payload)
  })
}

const drainRest = (request: IncomingMessage, response: ServerResponse): void => {
  const { socket } = request
  closeWhenRead(request, response)
  const start = socket.bytesRead
  request.unpipe()
  request.resume()
  const timer = setTimeout(() => request.destroy(), DRAIN_LIMIT_MS).unref()
  request.on('data', () => {
    if (socket.bytesRead - start > DRAIN_LIMIT_BYTES) request.destroy()
  })
  finished(request, () => clearTimeout(timer))
}

// Node would close the connection, where the client wants that, as soon as the response is written: in the middle of the body.
const closeWhenRead = (request: IncomingMessage, response: ServerResponse): void => {
  if (response.shouldKeepAlive) return
  response.shouldKeepAlive = true
  finished(request, () => finished(response, () => request.socket.destroySoon()))
}
