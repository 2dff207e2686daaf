import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'

const MEBIBYTE = 1024 * 1024
/** A form has a file of 10 MiB and other fields. */
const MAX_FORM_BYTES = 11 * MEBIBYTE

const continued = new WeakSet<IncomingMessage>()

const expects = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion === '1.1' && /\b100-continue\b/i.test(headers.expect ?? '')

/** Whether a client still waits for `100 Continue` before it sends its body. */
export const waitsToSend = (request: IncomingMessage): boolean =>
  expects(request) && !continued.has(request) && request.readableLength === 0

const tooLong = ({ headers, routeOptions }: FastifyRequest): ProblemError | undefined => {
  const isForm = headers['content-type']?.startsWith('multipart/')
  const limit = isForm ? MAX_FORM_BYTES : routeOptions.bodyLimit!
  return Number(headers['content-length'] ?? 0) > limit
    ? new ProblemError('too-large', `The body may not be larger than ${limit / MEBIBYTE} MiB.`)
    : undefined
}

/**
 * Answers `Expect: 100-continue` after address, token and length were checked (RFC 9110, 10.1.1). Node itself would answer it at once.
 */
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
