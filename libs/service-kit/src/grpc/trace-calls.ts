import type { CallContext, CallOptions, ClientMiddlewareCall, ServerMiddlewareCall } from 'nice-grpc-common'
import { openTelemetryClientMiddleware, openTelemetryServerMiddleware } from 'nice-grpc-opentelemetry'
import { isTraced, isTracing } from '../tracing/tracing'

const asClient = openTelemetryClientMiddleware()
const asServer = openTelemetryServerMiddleware()

/** Client side: a unary call is a span of the trace that is under way, and tells of it. Batches of a stream tell themselves. */
export async function* tellTrace<Request, Response>(
  call: ClientMiddlewareCall<Request, Response>,
  options: CallOptions,
) {
  if (call.requestStream || !isTraced()) return yield* call.next(call.request as Request, options)
  return yield* asClient(call, options)
}

/** Server side: a unary call that tells of a trace is a span of it. */
export async function* takeTrace<Request, Response>(
  call: ServerMiddlewareCall<Request, Response>,
  context: CallContext,
) {
  const isTold = !call.requestStream && isTracing() && context.metadata.has('traceparent')
  if (!isTold) return yield* call.next(call.request as Request, context)
  return yield* asServer(call, context)
}
