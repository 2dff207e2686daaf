import { type Logger, type Metrics, measureRequests, parseTraceparent } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const SLOW_MS = 1000

/**
 * One observation and one log line for each request. The line never has a token or a body.
 *
 * Refused and slow requests are logged as info, others as debug, because thousands of lines a second cost a third of the gateway's time
 * again in the process that reads them. A 503 is debug too: `answerError` logs what is unavailable, and metrics count what is refused
 * under load.
 */
export const observeRequests = (
  app: FastifyInstance,
  options: { logger: Logger; metrics: Metrics },
): void => {
  measureRequests(app, options.metrics)
  app.addHook('onResponse', (request, reply, done) => {
    const { elapsedTime } = reply
    const isNoted = reply.statusCode !== 503 && (reply.statusCode >= 400 || elapsedTime > SLOW_MS)
    const level = isNoted ? 'info' : 'debug'
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
        // The client disconnected before it had the whole response.
        ...(!reply.raw.writableFinished && { aborted: true }),
      },
      'request',
    )
    done()
  })
}
