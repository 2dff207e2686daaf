import type { CallContext, ServerMiddlewareCall } from 'nice-grpc-common'
import { createFairQueue } from './fair-queue'

/** Of the ten connections to a database that a service has unless told otherwise. */
const AT_ONCE = 3
const WAITING_AT_MOST = 2000
/** As long as a call waits for a connection. */
const MAX_WAIT_MS = 3000

/**
 * Of one account only three unary calls run at once. The others wait, and are refused as unavailable after 3 s: so its slow
 * statements leave connections for everybody else, however many of them it asks for. A call is an account's when its request
 * has `accountId`.
 */
export const boundAccounts = () => {
  const enter = createFairQueue({
    shareOf: () => AT_ONCE,
    maxWaiting: WAITING_AT_MOST,
    maxWaitMs: MAX_WAIT_MS,
  })
  return async function* <Request, Response>(
    call: ServerMiddlewareCall<Request, Response>,
    context: CallContext,
  ) {
    const { accountId } = call.request as { accountId?: number }
    if (accountId === undefined) return yield* call.next(call.request, context)
    const leave = await enter(accountId)
    try {
      context.signal.throwIfAborted()
      return yield* call.next(call.request, context)
    } finally {
      leave()
    }
  }
}
