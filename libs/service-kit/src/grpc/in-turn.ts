import type { Actor } from '@leadwire/contracts'
import type { CallContext } from 'nice-grpc'
import type { Database } from '../database/database'
import { gather } from './gather'
import type { GatherMeter } from './gather-metrics'
import { perCall } from './per-call'

const QUEUED_AT_MOST = 1000

/**
 * For operations that may read thousands of rows: as `perCall`, but only `atOnce` of them run at once, and accounts take turns. So
 * one account's leave connections and processor time for all other calls, however many of them it asks for.
 */
export const createPerCallInTurn = ({
  atOnce,
  meter,
}: {
  atOnce: number
  meter?: GatherMeter | undefined
}) => {
  const inTurn = gather<{ accountId: number; run: () => Promise<unknown> }, unknown>({
    send: async ([call]) => [await call!.run()],
    laneOf: ({ accountId }) => accountId,
    ...{ maxBatch: 1, maxInFlight: atOnce, maxQueued: QUEUED_AT_MOST, meter },
  })
  return <Deps extends { database: Database }, Request extends { accountId: number }, Response>(
    deps: Deps,
    operation: (deps: Deps & { actor: Actor | undefined }) => (request: Request) => Promise<Response>,
  ) => {
    const call = perCall(deps, operation)
    return (request: Request, context: Pick<CallContext, 'signal' | 'metadata'>): Promise<Response> =>
      inTurn({ accountId: request.accountId, run: () => call(request, context) }) as Promise<Response>
  }
}
