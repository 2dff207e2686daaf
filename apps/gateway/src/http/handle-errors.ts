import type { IncomingMessage } from 'node:http'
import { type Logger, PROBLEM_TYPE, ServiceError, TooBusy } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Problem, ProblemError, problemJson, problemOf } from './problem'
import { decodePercent } from './utf8'

// A read that is late has changed nothing, and may be asked again like one that met nobody.
const problemOfRequest = (error: unknown, { method }: FastifyRequest): Problem => {
  const found = problemOf(error)
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && found.kind === 'late' ? problemOf(new ServiceError('unavailable', found.detail)) : found
}

/** Answers with the problem that an error is, and logs it when it is ours. */
export const answerError =
  (logger: Logger) => (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const problem = problemOfRequest(error, request)
    // What was refused because too much waits is counted (`meter` of batchers and fair queues): there may be thousands.
    if (problem.status >= 500 && !(error instanceof TooBusy)) {
      // What is unavailable comes back by itself; anything else is a bug of ours.
      const level = problem.status === 500 ? 'error' : 'warn'
      logger[level]({ err: error, request_id: request.id }, 'request failed')
    }
    return reply
      .code(problem.status)
      .headers({
        ...problem.headers,
        'content-type': PROBLEM_TYPE,
        'x-request-id': request.id,
      })
      .send(problemJson(problem, request.id))
  }

// Node answers 417 by itself, without a document, unless somebody listens for it.
const hearExpectations = (app: FastifyInstance) =>
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

const expectsTooMuch = ({ headers, raw }: FastifyRequest) =>
  headers.expect !== undefined && raw.httpVersion === '1.1' && !/\b100-continue\b/i.test(headers.expect)

const notFound = () => new ProblemError('not-found', 'There is nothing at this address.')

const problemWith = (request: FastifyRequest): ProblemError | undefined => {
  if (request.is404) return notFound()
  // What has no version in its first line is read as HTTP/0.9, which knew no headers.
  if (request.raw.httpVersion === '0.9') {
    return new ProblemError('bad-request', 'The request is not well-formed HTTP.')
  }
  if (expectsTooMuch(request)) {
    return new ProblemError('expectation-failed', 'The only expectation that can be met is 100-continue.')
  }
  if (request.headers.host === undefined && request.raw.httpVersion !== '1.0') {
    return new ProblemError('bad-request', 'The request has no Host header.')
  }
  const repeated = repeatedHeader(request.raw)
  if (repeated) return new ProblemError('bad-request', `The request has more than one ${repeated} header.`)
  if (!hasReadableQuery(request.url)) {
    return new ProblemError('bad-request', 'The query is not well-formed UTF-8.')
  }
  return undefined
}

const SINGLE = ['Host', 'Authorization'] as const

// Node gives the first of several, and a proxy before it may have gone by another (RFC 9112, 3.2).
const repeatedHeader = ({ rawHeaders }: IncomingMessage): string | undefined =>
  SINGLE.find((single) => {
    let count = 0
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at]!
      if (name.length === single.length && name.toLowerCase() === single.toLowerCase()) count += 1
    }
    return count > 1
  })

// A path that is not UTF-8 is refused by the router.
const hasReadableQuery = (url: string): boolean => {
  const start = url.indexOf('?')
  return start < 0 || decodePercent(url.slice(start)) !== undefined
}

/** Every error, and every unknown address, becomes a problem document. */
export const handleErrors = (app: FastifyInstance, logger: Logger): void => {
  app.setErrorHandler(answerError(logger))
  hearExpectations(app)
  // Before the body is looked at: at an unknown address its type and size are nobody's business.
  app.addHook('onRequest', (request, _reply, done) => {
    done(problemWith(request))
  })
  app.setNotFoundHandler(async () => {
    throw notFound()
  })
}
