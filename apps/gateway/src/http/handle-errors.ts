import type { IncomingMessage } from 'node:http'
import { type Logger, PROBLEM_TYPE, ServiceError, TooBusy } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound, type Problem, ProblemError, problemJson, problemOf } from './problem'
import { decodePercent } from './utf8'

// A read that timed out has changed nothing, and may be sent again.
const problemOfRequest = (error: unknown, { method }: FastifyRequest): Problem => {
  const found = problemOf(error)
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && found.kind === 'late' ? problemOf(new ServiceError('unavailable', found.detail)) : found
}

/** Answers an error with its problem document, and logs those that are not the client's. */
export const answerError =
  (logger: Logger) => (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const problem = problemOfRequest(error, request)
    // There may be thousands of refusals under load; batchers and fair queues count them.
    if (problem.status >= 500 && !(error instanceof TooBusy)) {
      // A dependency that is unavailable comes back; every other error is a bug.
      const level = problem.status === 500 ? 'error' : 'warn'
      logger[level]({ err: error, request_id: request.id }, 'request failed')
    }
    return reply
      .code(problem.status)
      .headers({ ...problem.headers, 'content-type': PROBLEM_TYPE, 'x-request-id': request.id })
      .send(problemJson(problem, request.id))
  }

const expectsTooMuch = ({ headers, raw }: FastifyRequest) =>
  headers.expect !== undefined && raw.httpVersion === '1.1' && !/\b100-continue\b/i.test(headers.expect)

const badRequest = (detail: string) => new ProblemError('bad-request', detail)

const problemWith = (request: FastifyRequest): ProblemError | undefined => {
  const { httpVersion } = request.raw
  // A first line without a version is HTTP/0.9, which has no headers.
  if (httpVersion === '0.9') return badRequest('The request is not well-formed HTTP.')
  if (expectsTooMuch(request))
    return new ProblemError('expectation-failed', 'The only expectation that can be met is 100-continue.')
  if (request.headers.host === undefined && httpVersion !== '1.0')
    return badRequest('The request has no Host header.')
  const repeated = repeatedHeader(request.raw)
  if (repeated) return badRequest(`The request has more than one ${repeated} header.`)
  // The router refuses a path that is not UTF-8.
  const query = request.url.indexOf('?')
  return query >= 0 && decodePercent(request.url.slice(query)) === undefined
    ? badRequest('The query is not well-formed UTF-8.')
    : undefined
}

const SINGLE = ['Host', 'Authorization'] as const

// Node takes the first of several, and a proxy before it may have taken another (RFC 9112, 3.2).
const repeatedHeader = ({ rawHeaders }: IncomingMessage): string | undefined =>
  SINGLE.find((single) => {
    let count = 0
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at]!
      if (name.length === single.length && name.toLowerCase() === single.toLowerCase()) count += 1
    }
    return count > 1
  })

/** @param misrouted why a request has no route */
export const handleErrors = (
  app: FastifyInstance,
  logger: Logger,
  misrouted: (request: FastifyRequest) => ProblemError | undefined,
): void => {
  app.setErrorHandler(answerError(logger))
  // Without a listener Node answers 417 itself, without a document.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // Before the body is read: at an unknown address its type and size do not matter.
  app.addHook('onRequest', (request, _reply, done) => {
    done(misrouted(request) ?? problemWith(request))
  })
  app.setNotFoundHandler(async () => {
    throw notFound()
  })
}
