import type { Logger } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError, problemJson, problemOf } from './problem'

/** Answers with the problem that an error is, and logs it when it is ours. */
export const answerError =
  (logger: Logger) => (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const problem = problemOf(error)
    if (problem.status >= 500) {
      // What is away comes back by itself; anything else is a bug of ours.
      const level = problem.status === 500 ? 'error' : 'warn'
      logger[level]({ err: error, request_id: request.id }, 'request failed')
    }
    return reply
      .code(problem.status)
      .headers({
        ...problem.headers,
        'content-type': 'application/problem+json; charset=utf-8',
        'x-request-id': request.id,
      })
      .send(problemJson(problem, request.id))
  }

const notFound = () => new ProblemError('not-found', 'There is nothing at this address.')

/** Every error, and every unknown address, becomes a problem document. */
export const handleErrors = (app: FastifyInstance, logger: Logger): void => {
  app.setErrorHandler(answerError(logger))
  // Before the body is looked at: at an unknown address its type and size are nobody's business.
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw notFound()
    if (request.headers.host === undefined && request.raw.httpVersion !== '1.0') {
      throw new ProblemError('bad-request', 'The request has no Host header.')
    }
  })
  app.setNotFoundHandler(async () => {
    throw notFound()
  })
}
