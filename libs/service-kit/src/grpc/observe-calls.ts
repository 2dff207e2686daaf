import { isAbortError } from 'abort-controller-x'
import type { CallContext, ClientMiddleware, ServerMiddleware } from 'nice-grpc-common'
import { Metadata, ServerError, Status } from 'nice-grpc-common'
import { Histogram } from 'prom-client'
import { ServiceError } from '../errors/service-error'
import type { Metrics } from '../process/metrics'
import { activeTraceparent, inSpan, inSpanOf, isTraced, SpanKind } from '../tracing/tracing'
import { statusCodeOf } from './status'

// OpenTelemetry semantic conventions, "gRPC".
const attributesOf = (path: string) => {
  const [service = '', name = ''] = path.split('/')
  return { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': name }
}

/** Client side: a unary call is a span of the active trace. Batches of a stream carry their own traceparent. */
export const traceCall: ClientMiddleware = async function* (call, options) {
  if (call.requestStream || call.responseStream || !isTraced()) return yield* call.next(call.request, options)
  const path = call.method.path.slice(1)
  return await inSpan(path, { kind: SpanKind.CLIENT, attributes: attributesOf(path) }, async () => {
    const metadata = Metadata(options.metadata).set('traceparent', activeTraceparent()!)
    return (await call.next(call.request, { ...options, metadata }).next()).value
  })
}

export interface ObservedContext extends CallContext {
  /** Answers one message, measured and traced like a call. `traceparent` names its trace. */
  observe: <Answer>(
    message: { traceparent?: string | undefined },
    answer: () => Promise<Answer>,
  ) => Promise<Answer>
}

const codeOf = (error: unknown): Status => {
  if (error instanceof ServiceError) return statusCodeOf(error)
  if (error instanceof ServerError) return error.code
  return isAbortError(error) ? Status.CANCELLED : Status.UNKNOWN
}

/** Server side: measures each call, and each message of a stream, by method and status, and makes it a span of its trace. */
export const observeCalls = (metrics: Metrics): ServerMiddleware => {
  const durations = new Histogram({
    name: 'grpc_request_duration_seconds',
    help: 'From the reading of a call, or of a message of a stream, to its answer.',
    labelNames: ['method', 'code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  })
  return async function* (call, context) {
    const method = call.method.path.slice(1)
    // Health and reflection are gRPC's own.
    if (method.startsWith('grpc.')) return yield* call.next(call.request, context)
    const span = { name: method, kind: SpanKind.SERVER, attributes: attributesOf(method) }
    const observe: ObservedContext['observe'] = async ({ traceparent }, answer) => {
      const startedAt = performance.now()
      let code = Status.OK
      try {
        return await inSpanOf(traceparent, span, answer)
      } catch (error) {
        code = codeOf(error)
        throw error
      } finally {
        durations.observe({ method, code: Status[code] }, (performance.now() - startedAt) / 1000)
      }
    }
    if (call.requestStream) return yield* call.next(call.request, { ...context, observe } as ObservedContext)
    // It lasts as long as its caller wants.
    if (call.responseStream) return yield* call.next(call.request, context)
    // A unary call yields nothing: its response is what it returns.
    return await observe(
      { traceparent: context.metadata.get('traceparent') },
      async () => (await call.next(call.request, context).next()).value,
    )
  }
}
