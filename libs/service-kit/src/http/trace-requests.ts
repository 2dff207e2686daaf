import { type Context, context, propagation, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { VERSION } from '../config/version'
import { isTracing, SpanKind } from '../tracing/tracing'

const UNTRACED = ['/healthz', '/readyz']

/** Makes each request a span of the trace that its traceparent names. Without tracing it adds nothing. */
export const traceRequests = (app: FastifyInstance): void => {
  if (!isTracing()) return
  const tracer = trace.getTracer('leadwire', VERSION)
  const contexts = new WeakMap<FastifyRequest, Context>()

  const begin = (request: FastifyRequest): Context => {
    const route = request.routeOptions.url ?? 'unknown'
    const attributes = {
      'http.request.method': request.method,
      'http.route': route,
      'leadwire.request_id': request.id,
    }
    const parent = propagation.extract(ROOT_CONTEXT, request.headers)
    const options = { kind: SpanKind.SERVER, attributes }
    return trace.setSpan(parent, tracer.startSpan(`${request.method} ${route}`, options, parent))
  }

  app.addHook('onRequest', (request, _reply, done) => {
    if (UNTRACED.includes(request.routeOptions.url ?? '')) return done()
    const ours = begin(request)
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
