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
 * An answer can come before its request was read to the end (a file that is too large, a missing token). Closing at
 * once would reset the connection under a client that is still sending, and the answer would be lost with it. So the
 * rest is read and thrown away, and then the next request on the connection is answered. Beyond the limits the
 * connection is cut.
 */
export const drainUnreadBodies = (app: FastifyInstance, lifecycle: Lifecycle): void => {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    const unread = !raw.complete && !raw.destroyed && hasBody(raw)
    // Fastify asks for a close after every body it refuses, also when all of it was read: the requests that are
    // pipelined behind it would be lost.
    if (unread || (reply.hasHeader('connection') && !lifecycle.draining)) reply.removeHeader('connection')
    // Who was not told to send the body may not send it: what came next on this connection would be taken for it.
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

// Where the client wants the connection closed, Node would do so as soon as the answer is written, in the middle of the
// body. The header `connection`, which tells Node so too, was removed before.
const closeWhenRead = (request: IncomingMessage, response: ServerResponse): void => {
  if (response.shouldKeepAlive) return
  response.shouldKeepAlive = true
  finished(request, () => finished(response, () => request.socket.destroySoon()))
}
