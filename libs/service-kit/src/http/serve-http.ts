import { Server as NetServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Context, context, propagation, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Histogram } from 'prom-client'
import type { Metrics } from '../process/metrics'
import { isTracing, SpanKind, tracer } from '../tracing/tracing'

/**
 * Measures requests by the pattern of their route. If they were measured by URL, each URL would become a time
 * series.
 */
export const measureRequests = (app: FastifyInstance, metrics: Metrics): void => {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request line to the last byte of the response, by method, route and status.',
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

const UNTRACED = ['/healthz', '/readyz']

/**
 * Records each request as a span of the trace that its traceparent header names. Does nothing if tracing is
 * off.
 */
export const traceRequests = (app: FastifyInstance): void => {
  if (!isTracing()) return
  const contexts = new WeakMap<FastifyRequest, Context>()
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, id, headers, routeOptions } = request
    const route = routeOptions.url ?? 'unknown'
    if (UNTRACED.includes(route)) return done()
    const parent = propagation.extract(ROOT_CONTEXT, headers)
    const attributes = { 'http.request.method': method, 'http.route': route, 'leadwire.request_id': id }
    const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent)
    const ours = trace.setSpan(parent, span)
    contexts.set(request, ours)
    context.with(ours, done)
  })
  // Restores the trace context, which is lost while the body is read: the events of the body's stream run
  // outside the context.
  app.addHook('preValidation', (request, _reply, done) =>
    context.with(contexts.get(request) ?? ROOT_CONTEXT, done),
  )
  app.addHook('onResponse', (request, reply, done) => {
    const ours = contexts.get(request)
    if (!ours) return done()
    const span = trace.getSpan(ours)!
    span.setAttribute('http.response.status_code', reply.statusCode)
    if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    context.with(ours, done)
    span.end()
  })
}

// How long a draining server keeps idle connections open, while clients move to another copy. During this
// time each response closes its connection. If the server closed idle connections at once, a request could be
// arriving on one of them.
const MOVE_ON_MS = 500

/**
 * Drains a server. Resolves when the last connection is closed. Does not call the HTTP server's own `close`,
 * which would also cut connections on which a client has just sent a request.
 */
export const drainHttp = async (server: FastifyInstance['server']): Promise<void> => {
  // Waits until the event loop has accepted all connections. Closing the server would reset the connections
  // that only the kernel has accepted.
  await new Promise(setImmediate)
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve())
  })
  await pause(MOVE_ON_MS)
  // Closes idle connections repeatedly, because a connection with a response in flight becomes idle only
  // after that response.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  await closed
  clearInterval(sweep)
}
