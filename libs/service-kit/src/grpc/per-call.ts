import type { Actor } from '@leadwire/contracts'
import type { CallContext } from 'nice-grpc'
import type { Metadata } from 'nice-grpc-common'
import type { Database } from '../database/database'
import type { Sealer } from '../security/sealer'
import { actorOfCall } from './call-metadata'
import { answerOnce, type Codec, type WithIdempotencyKey } from './idempotency'

/**
 * An operation as a method of a gRPC service. It gets the database for this call alone, so that no more statements begin when the
 * caller has gone or timed out, and the caller as `actor`.
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

/** The same for an operation that is done once with each idempotency key. `response` encodes its response. */
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
