import type { CallContext, CallOptions, ClientMiddlewareCall, ServerMiddlewareCall } from 'nice-grpc-common'
import { openTelemetryClientMiddleware, openTelemetryServerMiddleware } from 'nice-grpc-opentelemetry'
import { isTraced, isTracing } from '../tracing/tracing'

const asClient = openTelemetryClientMiddleware()
const asServer = openTelemetryServerMiddleware()

/** Client side: a unary call is a span of the active trace. Batches of a stream carry their own traceparent. */
export async function* traceCall<Request, Response>(
  call: ClientMiddlewareCall<Request, Response>,
  options: CallOptions,
) {
  if (call.requestStream || !isTraced()) return yield* call.next(call.request as Request, options)
  return yield* asClient(call, options)
}

/** Server side: a unary call is a span of the trace in its metadata. */
export async function* traceHandler<Request, Response>(
  call: ServerMiddlewareCall<Request, Response>,
  context: CallContext,
) {
  const hasTrace = !call.requestStream && isTracing() && context.metadata.has('traceparent')
  if (!hasTrace) return yield* call.next(call.request as Request, context)
  return yield* asServer(call, context)
}
