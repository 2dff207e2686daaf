import type { FastifyInstance } from 'fastify'
import { Histogram } from 'prom-client'
import type { Metrics } from '../process/metrics'

/** Measures each request of a server, by the pattern of its route: addresses would make a series each. */
export const measureRequests = (app: FastifyInstance, metrics: Metrics): void => {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the request line to the last byte of the answer, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300],
    registers: [metrics],
  })
  app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
    const labels = { method, route: routeOptions.url ?? 'unknown', status: reply.statusCode }
    durations.observe(labels, reply.elapsedTime / 1000)
    done()
  })
}
