import { isAbortError } from 'abort-controller-x'
import { type CallContext, ServerError, type ServerMiddlewareCall, Status } from 'nice-grpc-common'
import { Histogram } from 'prom-client'
import { ServiceError } from '../errors/service-error'
import type { Metrics } from '../process/metrics'
import { inSpanOf, SpanKind } from '../tracing/tracing'
import { statusCodeOf } from './status'

/** Answers one message of a stream, measured and traced like a call. `traceparent` names its trace. */
type ObserveMessage = <Answer>(
  message: { traceparent?: string | undefined },
  answer: () => Promise<Answer>,
) => Promise<Answer>

/** The context of a stream's handler. Each message counts as a call. */
export interface ObservedContext extends CallContext {
  observe?: ObserveMessage
}

// Not gRPC's own services.
const isOurs = (path: string) => !path.startsWith('/grpc.')

const codeOf = (error: unknown): Status => {
  if (error instanceof ServiceError) return statusCodeOf(error)
  if (error instanceof ServerError) return error.code
  return isAbortError(error) ? Status.CANCELLED : Status.UNKNOWN
}

/** Server side: measures each call, and each message of a stream, by method and status. */
export const observeCalls = (metrics: Metrics) => {
  const durations = new Histogram({
    name: 'grpc_request_duration_seconds',
    help: 'From the reading of a call, or of a message of a stream, to its answer.',
    labelNames: ['method', 'code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  })
  const measured = async <Answer>(method: string, answer: () => Promise<Answer>): Promise<Answer> => {
    const startedAt = performance.now()
    let code = Status.OK
    try {
      return await answer()
    } catch (error) {
      code = codeOf(error)
      throw error
    } finally {
      durations.observe({ method, code: Status[code] }, (performance.now() - startedAt) / 1000)
    }
  }
  return async function* <Request, Response>(
    call: ServerMiddlewareCall<Request, Response>,
    context: CallContext,
  ) {
    const { path } = call.method
    if (!isOurs(path)) return yield* call.next(call.request, context)
    const method = path.slice(1)
    // A unary call yields nothing: its response is what it returns.
    if (!call.requestStream)
      return await measured(
        method,
        async () => (await call.next(call.request, context).next()).value as Response,
      )
    const span = { name: method, kind: SpanKind.SERVER }
    const observe: ObserveMessage = ({ traceparent }, answer) =>
      measured(method, () => inSpanOf(traceparent, span, answer))
    return yield* call.next(call.request, { ...context, observe } as ObservedContext)
  }
}
