import type { IncomingMessage } from 'node:http'
import {
  type Logger,
  limitRepeats,
  PROBLEM_TYPE,
  type Problem,
  problemJson,
  ServiceError,
  TooBusy,
} from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findProblem, notFound, ProblemError } from './problem'
import { refuseMediaType } from './refuse-media-type'
import { decodePercent } from './utf8'

const isMediaTypeRefusal = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'

const findRequestProblem = (error: unknown, request: FastifyRequest): Problem => {
  const { method } = request
  const found = findProblem(isMediaTypeRefusal(error) ? refuseMediaType(request) : error)
  const isRead = method === 'GET' || method === 'HEAD'
  // Turns the 504 of a read into a 503. A read that timed out has changed nothing, so the client may repeat
  // it.
  return isRead && found.kind === 'late' ? findProblem(new ServiceError('unavailable', found.detail)) : found
}

/**
 * Makes the handler that responds to an error with a problem document. Logs errors that the client did not
 * cause. An unavailable service fails every request, so the handler counts repeats of a 503 or 504 instead of
 * logging each of them.
 */
export const answerError = (logger: Logger) => {
  const failures = limitRepeats(logger)
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const problem = findRequestProblem(error, request)
    const { url: route } = request.routeOptions
    if (problem.status === 500) logger.error({ err: error, route, request_id: request.id }, 'request failed')
    // Logs no TooBusy, because batchers and fair queues count their own refusals.
    else if (problem.status > 500 && !(error instanceof TooBusy))
      failures.warn({ err: error, route, request_id: request.id }, 'request failed')
    return reply
      .code(problem.status)
      .headers({ ...problem.headers, 'content-type': PROBLEM_TYPE, 'x-request-id': request.id })
      .send(problemJson(problem, request.id))
  }
}

const expectsTooMuch = ({ headers, raw }: FastifyRequest) =>
  headers.expect !== undefined && raw.httpVersion === '1.1' && !/\b100-continue\b/i.test(headers.expect)

const badRequest = (detail: string) => new ProblemError('bad-request', detail)

const refuseRequest = (request: FastifyRequest): ProblemError | undefined => {
  const { httpVersion } = request.raw
  // A first line without a version means HTTP/0.9, which has no headers.
  if (httpVersion === '0.9') return badRequest('The request is not well-formed HTTP.')
  if (expectsTooMuch(request))
    return new ProblemError(
      'expectation-failed',
      'The Expect header may only be 100-continue. Omit any other value.',
    )
  if (request.headers.host === undefined && httpVersion !== '1.0')
    return badRequest('The request has no Host header.')
  const repeated = findRepeatedHeader(request.raw)
  if (repeated) return badRequest(`The request has more than one ${repeated} header.`)
  // Checks only the query here, because the router refuses a path that is not UTF-8.
  const query = request.url.indexOf('?')
  return query >= 0 && decodePercent(request.url.slice(query)) === undefined
    ? badRequest('The query is not well-formed UTF-8.')
    : undefined
}

const SINGLE = ['Host', 'Authorization'] as const

// Returns the name of a repeated header. The gateway refuses such a request, because Node uses the first
// value of the header, but a proxy may have used a different value (RFC 9112, 3.2).
const findRepeatedHeader = ({ rawHeaders }: IncomingMessage): string | undefined =>
  SINGLE.find((single) => {
    let count = 0
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at]!
      if (name.length === single.length && name.toLowerCase() === single.toLowerCase()) count += 1
    }
    return count > 1
  })

/** Installs the error handlers. `misrouted` returns the error of a request without a route. */
export const handleErrors = (
  app: FastifyInstance,
  logger: Logger,
  misrouted: (request: FastifyRequest) => ProblemError | undefined,
): void => {
  app.setErrorHandler(answerError(logger))
  // Without this listener, Node itself would respond with 417, without a problem document.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // Runs before the body is read, because the response for an unknown path is 404, whatever the type and the
  // size of the body.
  app.addHook('onRequest', (request, _reply, done) => {
    done(misrouted(request) ?? refuseRequest(request))
  })
  app.setNotFoundHandler(async () => {
    throw notFound()
  })
}
