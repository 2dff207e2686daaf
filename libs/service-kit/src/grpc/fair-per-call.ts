import type { Actor } from '@leadwire/contracts'
import type { CallContext } from 'nice-grpc'
import type { Database } from '../database/database'
import type { BatcherMeter } from './batcher-metrics'
import { createFairQueue } from './fair-queue'
import { perCall } from './per-call'

const WAITING_AT_MOST = 1000
/** As long as a request may take. */
const MAX_WAIT_MS = 10_000

/**
 * For operations that may read thousands of rows: as `perCall`, but only `atOnce` of them run at once, and accounts take turns. So
 * one account's leave connections and processor time for all other calls, however many of them it asks for.
 */
export const createFairPerCall = ({
  atOnce,
  meter,
}: {
  atOnce: number
  meter?: BatcherMeter | undefined
}) => {
  const enter = createFairQueue({
    shareOf: () => atOnce,
    ...{ capacity: atOnce, maxWaiting: WAITING_AT_MOST, maxWaitMs: MAX_WAIT_MS, meter },
  })
  return <Deps extends { database: Database }, Request extends { accountId: number }, Response>(
    deps: Deps,
    operation: (deps: Deps & { actor: Actor | undefined }) => (request: Request) => Promise<Response>,
  ) => {
    const call = perCall(deps, operation)
    return async (request: Request, context: Pick<CallContext, 'signal' | 'metadata'>): Promise<Response> => {
      const leave = await enter(request.accountId)
      try {
        return await call(request, context)
      } finally {
        leave()
      }
    }
  }
}
