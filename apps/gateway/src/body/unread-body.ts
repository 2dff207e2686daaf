import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Lifecycle } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { bodyTooLarge, findBodyLimit } from './collect-body'

const continued = new WeakSet<IncomingMessage>()

const expects = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion === '1.1' && /\b100-continue\b/i.test(headers.expect ?? '')

/** Returns whether the client still waits for `100 Continue` before it sends its body. */
const waitsToSend = (request: IncomingMessage): boolean =>
  expects(request) && !continued.has(request) && request.readableLength === 0

/**
 * Sends `100 Continue` only after the path, the token and the length have been checked (RFC 9110, 10.1.1). By
 * default, Node sends `100 Continue` at once.
 */
export const continueWhenChecked = (app: FastifyInstance): void => {
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response))
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!expects(request.raw)) return done(null, payload)
    const maxBytes = findBodyLimit(request)
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return done(bodyTooLarge(maxBytes))
    continued.add(request.raw)
    reply.raw.writeContinue()
    done(null, payload)
  })
}

const DRAIN_LIMIT_BYTES = 32 * 1024 * 1024
const DRAIN_LIMIT_MS = 10_000
/** The time limit after a 408. A slow client needs only enough time to receive the response. */
const SLOW_DRAIN_LIMIT_MS = 2000

/** Returns whether the headers of a request announce a body. */
export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * Reads and discards the rest of a body if the response is sent early, for example because the token is
 * missing. If the gateway closed the connection instead, TCP would reset the connection while the client is
 * still sending, and the client would lose the response. Closes the connection after 32 MiB or 10 s (2 s
 * after a 408), so that a client cannot send without end.
 */
export const drainUnreadBodies = (app: FastifyInstance, lifecycle: Lifecycle): void => {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    const unread = !raw.complete && !raw.destroyed && hasBody(raw)
    // Removes the header `Connection: close`, which Fastify sets whenever it refuses a body, even if the body
    // was read. Closing the connection would lose pipelined requests.
    if (unread || (reply.hasHeader('connection') && !lifecycle.signal.aborted))
      reply.removeHeader('connection')
    // Closes the connection if the client has not received `100 Continue`, because such a client may never
    // send its body. The server would then take the next request for the body.
    if (unread && waitsToSend(raw)) reply.header('connection', 'close')
    else if (unread)
      drainRest(raw, reply.raw, reply.statusCode === 408 ? SLOW_DRAIN_LIMIT_MS : DRAIN_LIMIT_MS)
    done(null, payload)
  })
}

const drainRest = (request: IncomingMessage, response: ServerResponse, limitMs: number): void => {
  const { socket } = request
  // Keeps the connection open until the body has arrived, even if the client asked to close the connection.
  // Otherwise Node would close the connection as soon as the response is written, in the middle of the body.
  if (!response.shouldKeepAlive) {
    response.shouldKeepAlive = true
    finished(request, () => finished(response, () => socket.destroySoon()))
  }
  const start = socket.bytesRead
  request.unpipe()
  request.resume()
  const timer = setTimeout(() => request.destroy(), limitMs).unref()
  request.on('data', () => {
    if (socket.bytesRead - start > DRAIN_LIMIT_BYTES) request.destroy()
  })
  finished(request, () => clearTimeout(timer))
}
