import type { Actor } from '@leadwire/contracts'
import {
  actorOfCall,
  answerOnce,
  type BatcherMeter,
  type Codec,
  createFairQueue,
  type Database,
  type Sealer,
} from '@leadwire/service-kit'
import type { CallContext } from 'nice-grpc'
import { underKey } from './idempotency/idempotency-keys'

type Operation<Deps, Request, Response> = (
  deps: Deps & { actor: Actor | undefined },
) => (request: Request) => Promise<Response>

/**
 * An operation as a method of a gRPC service. It gets the database for this call alone, so that no more statements begin when the
 * caller has gone or timed out, and the caller as `actor`.
 */
export const perCall =
  <Deps extends { database: Database }, Request, Response>(
    deps: Deps,
    operation: Operation<Deps, Request, Response>,
  ) =>
  async (
    request: Request,
    { signal, metadata }: Pick<CallContext, 'signal' | 'metadata'>,
  ): Promise<Response> =>
    operation({ ...deps, database: deps.database.until(signal), actor: actorOfCall(metadata) })(request)

/** The same for an operation that is done once with each idempotency key. `response` encodes its response. */
export const perKeyedCall =
  <Deps extends { database: Database; sealer: Sealer }, Request, Response>(
    deps: Deps,
    operation: Operation<Deps, Request, Response>,
    response: Codec<Response>,
  ) =>
  (request: Request, context: Pick<CallContext, 'signal' | 'metadata' | 'header'>): Promise<Response> => {
    const database = deps.database.until(context.signal)
    return answerOnce(context, { ...deps, database, underKey, response }, (ours) =>
      perCall({ ...deps, database: ours }, operation)(request, context),
    )
  }

/** Runs `atOnce` calls at once, fairly among accounts. Others wait as long as a request may take. */
export const createFairCalls = (atOnce: number, meter: BatcherMeter | undefined) => {
  const enter = createFairQueue({
    ...{ shareOf: () => atOnce, capacity: atOnce, maxWaiting: 1000, maxWaitMs: 10_000, meter },
  })
  return <Request extends { accountId: number }, Context, Response>(
    method: (request: Request, context: Context) => Promise<Response>,
  ) =>
    async (request: Request, context: Context): Promise<Response> => {
      const leave = await enter(request.accountId)
      return method(request, context).finally(leave)
    }
}
