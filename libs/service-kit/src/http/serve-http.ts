import { Server as NetServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Context, context, propagation, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Histogram } from 'prom-client'
import type { Metrics } from '../process/metrics'
import { isTracing, SpanKind, tracer } from '../tracing/tracing'

/** By the pattern of the route: addresses would make a series each. */
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

const UNTRACED = ['/healthz', '/readyz']

/** Makes each request a span of the trace that its traceparent names. Without tracing it adds nothing. */
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
  // The events of a body have no context.
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

// Responses end their connections meanwhile, so that none is closed while a request arrives.
const MOVE_ON_MS = 500

/** Resolves when the last connection is gone. The HTTP server's own `close` cuts connections on which a request was just sent. */
export const drainHttp = async (server: FastifyInstance['server']): Promise<void> => {
  // Right after the event loop has accepted connections: one that only the kernel has accepted would be reset.
  await new Promise(setImmediate)
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve())
  })
  await pause(MOVE_ON_MS)
  // A connection whose last answer began before the drain is idle only after it.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  await closed
  clearInterval(sweep)
}
