import { type Logger, type Metrics, measureRequests, parseTraceparent } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const SLOW_MS = 1000

/**
 * Records one observation and one log line for each request, never with a token or a body. The line of a 401
 * or 403 has the id of the token, if known, and the client's IP address. Only failed and slow requests are
 * logged as info: with thousands of lines a second, the process that reads the log would use a third as much
 * processor time as the gateway. A 503 is logged only as debug here: `answerError` logs it, or a queue counts
 * it (TooBusy).
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
        // The client disconnected before it had received the whole response.
        ...(!reply.raw.writableFinished && { aborted: true }),
      },
      'request',
    )
    done()
  })
}
