import { type Logger, type Metrics, measureRequests, parseTraceparent } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const SLOW_MS = 1000

/**
 * One observation and one log line for each request, never with a token or a body. Only refused and slow requests are logged as info:
 * thousands of lines a second cost a third of the gateway's time again in the process that reads them. `answerError` logs a 503.
 */
export const observeRequests = (app: FastifyInstance, logger: Logger, metrics: Metrics): void => {
  measureRequests(app, metrics)
  app.addHook('onResponse', (request, reply, done) => {
    const { elapsedTime } = reply
    const isNoted = reply.statusCode !== 503 && (reply.statusCode >= 400 || elapsedTime > SLOW_MS)
    const level = isNoted ? 'info' : 'debug'
    if (!logger.isLevelEnabled(level)) return done()
    const trace = parseTraceparent(request.headers['traceparent'])
    logger[level](
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
