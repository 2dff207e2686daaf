import { type Logger, type Metrics, measureRequests, parseTraceparent } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const SLOW_MS = 1000

/**
 * One observation and one log line for each request. The line names who and what, never a token or a body.
 *
 * What was refused or slow is logged as info, the rest as debug: metrics count every request, and thousands of lines a
 * second that say "200" would cost as much as answering (a third of the gateway's time again, in whoever reads them). So would
 * those that say "503": what is unavailable is logged as an error is answered, and what is too much is counted alone.
 */
export const observeRequests = (
  app: FastifyInstance,
  options: { logger: Logger; metrics: Metrics },
): void => {
  measureRequests(app, options.metrics)
  app.addHook('onResponse', (request, reply, done) => {
    const { elapsedTime } = reply
    const isTold = reply.statusCode !== 503 && (reply.statusCode >= 400 || elapsedTime > SLOW_MS)
    const level = isTold ? 'info' : 'debug'
    // What is not written need not be put together.
    if (!options.logger.isLevelEnabled(level)) return done()
    const trace = parseTraceparent(request.headers['traceparent'])
    options.logger[level](
      {
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.statusCode,
        duration_ms: Math.round(elapsedTime * 1000) / 1000,
        request_id: request.id,
        ...(trace && { trace_id: trace.slice(3, 35) }),
        ...(request.principal && { account_id: request.principal.accountId }),
        // The client disconnected before it had the whole answer.
        ...(!reply.raw.writableFinished && { aborted: true }),
      },
      'request',
    )
    done()
  })
}
