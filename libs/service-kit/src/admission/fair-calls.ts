import type { CallContext, ServerMiddlewareCall } from 'nice-grpc-common'
import type { BatcherMeter } from '../batching/batcher-metrics'
import { createFairQueue } from './fair-queue'

/** Of the ten connections to a database that a service has by default. */
const PER_ACCOUNT = 3

/**
 * gRPC middleware that runs three unary calls of an account at once. Others wait up to 3 s, as long as a call waits for a
 * connection: an account's slow statements leave connections for all other accounts. Requests without `accountId` pass.
 */
export const boundAccounts = () => {
  const enter = createFairQueue({ shareOf: () => PER_ACCOUNT, maxWaiting: 2000, maxWaitMs: 3000 })
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

/**
 * For methods that may read thousands of rows: runs `atOnce` of them at once, fairly among accounts, so that they leave connections
 * and processor time for all other calls. Others wait up to 10 s, as long as a request may take.
 */
export const createFairCalls = ({ atOnce, meter }: { atOnce: number; meter?: BatcherMeter | undefined }) => {
  const enter = createFairQueue({
    shareOf: () => atOnce,
    ...{ capacity: atOnce, maxWaiting: 1000, maxWaitMs: 10_000, meter },
  })
  return <Request extends { accountId: number }, Context, Response>(
    method: (request: Request, context: Context) => Promise<Response>,
  ) =>
    async (request: Request, context: Context): Promise<Response> => {
      const leave = await enter(request.accountId)
      try {
        return await method(request, context)
      } finally {
        leave()
      }
    }
}
