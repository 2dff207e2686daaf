import { isAbortError } from 'abort-controller-x'
import type { CallContext, ClientMiddleware, ServerMiddleware } from 'nice-grpc-common'
import { Metadata, ServerError, Status } from 'nice-grpc-common'
import { Histogram } from 'prom-client'
import { ServiceError } from '../errors/service-error'
import type { Metrics } from '../process/metrics'
import { activeTraceparent, continueTrace, inSpan, isTraced, SpanKind } from '../tracing/tracing'
import { findStatusCode } from './errors'

// Follows the semantic conventions of OpenTelemetry for gRPC.
const describeMethod = (path: string) => {
  const [service = '', name = ''] = path.split('/')
  return { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': name }
}

/**
 * Client side: makes a unary call a span of the active trace. Batches on streams carry their own
 * traceparent.
 */
export const traceCall: ClientMiddleware = async function* (call, options) {
  if (call.requestStream || call.responseStream || !isTraced()) return yield* call.next(call.request, options)
  const path = call.method.path.slice(1)
  return await inSpan(path, { kind: SpanKind.CLIENT, attributes: describeMethod(path) }, async () => {
    const metadata = Metadata(options.metadata).set('traceparent', activeTraceparent()!)
    return (await call.next(call.request, { ...options, metadata }).next()).value
  })
}

export interface ObservedContext extends CallContext {
  /** Runs `answer` for one message, measured and traced like a call. `traceparent` identifies the trace. */
  observe: <Answer>(
    message: { traceparent?: string | undefined },
    answer: () => Promise<Answer>,
  ) => Promise<Answer>
}

const findCode = (error: unknown): Status => {
  if (error instanceof ServiceError) return findStatusCode(error)
  if (error instanceof ServerError) return error.code
  return isAbortError(error) ? Status.CANCELLED : Status.UNKNOWN
}

/**
 * Server middleware. Measures each unary call by method and status, and records a span in the caller's trace.
 * On a client stream, the handler does the same for each message with `context.observe`.
 */
export const observeCalls = (metrics: Metrics): ServerMiddleware => {
  const durations = new Histogram({
    name: 'grpc_request_duration_seconds',
    help: 'Time from reading a call, or a message of a stream, to its response, by method and status code.',
    labelNames: ['method', 'code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  })
  return async function* (call, context) {
    const method = call.method.path.slice(1)
    // Skips health and reflection, which are part of gRPC.
    if (method.startsWith('grpc.')) return yield* call.next(call.request, context)
    const span = { name: method, kind: SpanKind.SERVER, attributes: describeMethod(method) }
    const observe: ObservedContext['observe'] = async ({ traceparent }, answer) => {
      const startedAt = performance.now()
      let code = Status.OK
      try {
        return await continueTrace(traceparent, span, answer)
      } catch (error) {
        code = findCode(error)
        throw error
      } finally {
        durations.observe({ method, code: Status[code] }, (performance.now() - startedAt) / 1000)
      }
    }
    if (call.requestStream) return yield* call.next(call.request, { ...context, observe } as ObservedContext)
    // Does not measure a call with a stream of responses, because it lasts as long as its caller wants.
    if (call.responseStream) return yield* call.next(call.request, context)
    // The iterator of a unary call yields nothing, and returns the response.
    return await observe(
      { traceparent: context.metadata.get('traceparent') },
      async () => (await call.next(call.request, context).next()).value,
    )
  }
}
