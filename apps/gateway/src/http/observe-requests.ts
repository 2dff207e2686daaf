import type { Logger, Metrics } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { Histogram } from 'prom-client'

const SLOW_MS = 1000

/**
 * One observation and one log line for each request. The line names who and what, never a token or a body.
 *
 * What was refused or slow is logged as info, the rest as debug: metrics count every request, and thousands of lines a
 * second that say "200" would cost as much as answering (a third of the gateway's time again, in whoever reads them).
 */
export const observeRequests = (
  app: FastifyInstance,
  options: { logger: Logger; metrics: Metrics },
): void => {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the request line to the last byte of the answer, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300],
    registers: [options.metrics],
  })
  app.addHook('onResponse', (request, reply, done) => {
    // The pattern of the route, not the address: addresses would make a series each.
    const route = request.routeOptions.url ?? 'unknown'
    const { elapsedTime } = reply
    durations.observe({ method: request.method, route, status: reply.statusCode }, elapsedTime / 1000)
    const level = reply.statusCode >= 400 || elapsedTime > SLOW_MS ? 'info' : 'debug'
    // What is not written need not be put together.
    if (!options.logger.isLevelEnabled(level)) return done()
    options.logger[level](
      {
        method: request.method,
        route,
        status: reply.statusCode,
        duration_ms: Math.round(elapsedTime * 1000) / 1000,
        request_id: request.id,
        ...(request.principal && { account_id: request.principal.accountId }),
        // The client went away before it had the whole answer.
        ...(!reply.raw.writableFinished && { aborted: true }),
      },
      'request',
    )
    done()
  })
}
