import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Lifecycle } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'

const MEBIBYTE = 1024 * 1024
/** A form has a file of 10 MiB and other fields. */
const MAX_FORM_BYTES = 11 * MEBIBYTE

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of multipart bodies, where it is not MAX_FORM_BYTES. */
    maxFormBytes?: number
  }
}

const continued = new WeakSet<IncomingMessage>()

const expects = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion === '1.1' && /\b100-continue\b/i.test(headers.expect ?? '')

/** Whether a client still waits for `100 Continue` before it sends its body. */
const waitsToSend = (request: IncomingMessage): boolean =>
  expects(request) && !continued.has(request) && request.readableLength === 0

const tooLong = ({ headers, routeOptions }: FastifyRequest): ProblemError | undefined => {
  const isForm = /^multipart\//i.test(headers['content-type'] ?? '')
  const limit = isForm ? (routeOptions.config.maxFormBytes ?? MAX_FORM_BYTES) : routeOptions.bodyLimit!
  return Number(headers['content-length'] ?? 0) > limit
    ? new ProblemError('too-large', `The body may not be larger than ${limit / MEBIBYTE} MiB.`)
    : undefined
}

/** Answers `Expect: 100-continue` when address, token and length were checked (RFC 9110, 10.1.1). Node would at once. */
export const continueWhenChecked = (app: FastifyInstance): void => {
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response))
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!expects(request.raw)) return done(null, payload)
    const refused = tooLong(request)
    if (refused) return done(refused)
    continued.add(request.raw)
    reply.raw.writeContinue()
    done(null, payload)
  })
}

const DRAIN_LIMIT_BYTES = 32 * 1024 * 1024
const DRAIN_LIMIT_MS = 10_000

/** Whether a request says that it has a body. */
export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * A response may be sent before its request has been read to the end (a missing token). Closing the connection would reset it under a
 * client that is still sending, and lose the response. So the rest is read and discarded, up to the limits.
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
  // Node would close the connection, where the client wants that, as soon as the response is written: in the middle of the body.
  if (!response.shouldKeepAlive) {
    response.shouldKeepAlive = true
    finished(request, () => finished(response, () => socket.destroySoon()))
  }
  const start = socket.bytesRead
  request.unpipe()
  request.resume()
  const timer = setTimeout(() => request.destroy(), DRAIN_LIMIT_MS).unref()
  request.on('data', () => {
    if (socket.bytesRead - start > DRAIN_LIMIT_BYTES) request.destroy()
  })
  finished(request, () => clearTimeout(timer))
}
