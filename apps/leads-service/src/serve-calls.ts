import {
  actorOfCall,
  answerOnce,
  type BatcherMeter,
  type Codec,
  createFairQueue,
  type Sealer,
} from '@leadwire/service-kit'
import type { CallContext } from 'nice-grpc'
import { underKey } from './idempotency/idempotency-keys'
import type { Dependencies } from './operation'

/**
 * An operation as a method of a gRPC service. It gets the database for this call alone, so that no more statements begin when the
 * caller has gone or timed out. With a codec of its response it is done once with each idempotency key.
 */
export const perCall =
  <Deps extends Omit<Dependencies, 'actor'> & { sealer: Sealer }, Request, Response>(
    deps: Deps,
    operation: (deps: Deps & Dependencies, request: Request) => Promise<Response>,
    response?: Codec<Response>,
  ) =>
  async (
    request: Request,
    context: Pick<CallContext, 'signal' | 'metadata' | 'header'>,
  ): Promise<Response> => {
    const { sealer } = deps
    const actor = actorOfCall(context.metadata)
    const once = { database: deps.database.until(context.signal), sealer, underKey, response }
    return answerOnce(context, once, (database) => operation({ ...deps, database, actor }, request))
  }

/** Each reads up to thousands of leads; with more of them at once creates would wait for PostgreSQL. */
const READS_AT_ONCE = 3

/** Runs a few calls at once, fairly among accounts. Others wait as long as a request may take. */
export const createFairCalls = (meter: BatcherMeter | undefined) => {
  const share = { shareOf: () => READS_AT_ONCE, capacity: READS_AT_ONCE }
  const enter = createFairQueue({ ...share, maxWaiting: 1000, maxWaitMs: 10_000, meter })
  return <Request extends { accountId: number }, Context, Response>(
    method: (request: Request, context: Context) => Promise<Response>,
  ) =>
    async (request: Request, context: Context): Promise<Response> => {
      const leave = await enter(request.accountId)
      return method(request, context).finally(leave)
    }
}
