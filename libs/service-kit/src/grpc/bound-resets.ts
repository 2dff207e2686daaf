import { abortable, throwIfAborted } from 'abort-controller-x'
import type { ClientMiddleware } from 'nice-grpc-common'

// Node's HTTP/2 server closes a connection, with all its calls, whose client resets more than 1000 streams and then 33 a second
// (nghttp2's `stream_reset_rate_limit`). Callers that hang up must not fail other callers' calls. One count for all connections.
const AT_ONCE = 500
const PER_SECOND = 25

let left = AT_ONCE
let countedAt = performance.now()

const mayReset = (): boolean => {
  const now = performance.now()
  left = Math.min(AT_ONCE, left + ((now - countedAt) / 1000) * PER_SECOND)
  countedAt = now
  if (left < 1) return false
  left -= 1
  return true
}

/** Rejects a unary call when its signal aborts. Beyond the limit of resets the call runs on until its deadline. */
export const boundResets: ClientMiddleware = async function* (call, options) {
  const { signal } = options
  if (!signal || call.responseStream) return yield* call.next(call.request, options)
  throwIfAborted(signal)
  const reset = new AbortController()
  const onAbort = () => {
    if (mayReset()) reset.abort()
  }
  signal.addEventListener('abort', onAbort)
  try {
    const response = call.next(call.request, { ...options, signal: reset.signal }).next()
    return (await abortable(signal, response)).value
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
