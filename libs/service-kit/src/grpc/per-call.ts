import type { Actor } from '@leadwire/contracts'
import type { CallContext } from 'nice-grpc'
import type { Metadata } from 'nice-grpc-common'
import type { Database } from '../database/database'
import type { Sealer } from '../security/sealer'
import { actorOfCall } from './call-metadata'
import { answerOnce, type Codec, type WithIdempotencyKey } from './idempotency'

/**
 * An operation as the method of a gRPC service. It is made anew for each call, with the database for that call alone:
 * nothing more is begun when the caller has gone or their time is over. `actor` is who asks for it.
 */
export const perCall =
  <Deps extends { database: Database }, Request, Response>(
    deps: Deps,
    operation: (deps: Deps & { actor: Actor | undefined }) => (request: Request) => Promise<Response>,
  ) =>
  async (
    request: Request,
    { signal, metadata }: { signal: AbortSignal; metadata: Metadata },
  ): Promise<Response> =>
    operation({ ...deps, database: deps.database.until(signal), actor: actorOfCall(metadata) })(request)

/** The same for an operation that is done once under each Idempotency-Key. `response` is its message. */
export const perKeyedCall =
  <Deps extends { database: Database; sealer: Sealer; underKey: WithIdempotencyKey }, Request, Response>(
    deps: Deps,
    operation: (deps: Deps & { actor: Actor | undefined }) => (request: Request) => Promise<Response>,
    response: Codec<Response>,
  ) =>
  (request: Request, context: Pick<CallContext, 'signal' | 'metadata' | 'header'>): Promise<Response> => {
    const database = deps.database.until(context.signal)
    return answerOnce(context, { ...deps, database, response }, (ours) =>
      perCall({ ...deps, database: ours }, operation)(request, context),
    )
  }
