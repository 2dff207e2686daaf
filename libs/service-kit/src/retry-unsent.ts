import { setTimeout as pause } from 'node:timers/promises'
import { type CallOptions, ClientError, type ClientMiddlewareCall, Status } from 'nice-grpc-common'

const PATIENCE_MS = 500
const PAUSE_MS = 20

// In the words of grpc-js, which has no code of its own for it.
const NEVER_SENT = /No connection established|Name resolution failed/

/**
 * Client side: tries a call again, for half a second, that found no connection. Such a call never left this process, so
 * this is safe whatever it does. A rolling restart needs it: when the last copy whose address a client knows goes away,
 * the addresses of those that came meanwhile are looked up only then.
 */
export async function* retryUnsent<Request, Response>(
  call: ClientMiddlewareCall<Request, Response>,
  options: CallOptions,
) {
  if (call.requestStream) return yield* call.next(call.request, options)
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return yield* call.next(call.request, options)
    } catch (error) {
      if (!wasNeverSent(error) || performance.now() > until) throw error
    }
    await pause(PAUSE_MS, undefined, options.signal ? { signal: options.signal } : {})
  }
}

const wasNeverSent = (error: unknown) =>
  error instanceof ClientError && error.code === Status.UNAVAILABLE && NEVER_SENT.test(error.details)
