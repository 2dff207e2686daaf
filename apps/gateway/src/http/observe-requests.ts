import { type Logger, type Metrics, measureRequests, parseTraceparent } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const SLOW_MS = 1000

/**
 * Records one observation and one log line for each request, never with a token or a body. The line of a 401
 * or 403 has the client's IP address, and the id of the token if the token is known.
 *
 * Logs only failed and slow requests as info. If the gateway logged thousands of lines a second, the process
 * that reads the log would use a third as much processor time as the gateway. Logs a 503 only as debug,
 * because `answerError` logs a 503, or a queue counts it (TooBusy).
 */
export const observeRequests = (app: FastifyInstance, logger: Logger, metrics: Metrics): void => {
  measureRequests(app, metrics)
  app.addHook('onResponse', (request, reply, done) => {
    const { elapsedTime } = reply
    const isNoted = reply.statusCode !== 503 && (reply.statusCode >= 400 || elapsedTime > SLOW_MS)
    const level = isNoted ? 'info' : 'debug'
    if (!logger.isLevelEnabled(level)) return done()
    const isRefused = reply.statusCode === 401 || reply.statusCode === 403
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
        ...(isRefused && { token_id: request.tokenId, address: request.ip }),
        // Marks a request whose client disconnected before the client had received the whole response.
        ...(!reply.raw.writableFinished && { aborted: true }),
      },
      'request',
    )
    done()
  })
}
