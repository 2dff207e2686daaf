import type { Actor } from '@leadwire/contracts'
import type { Metadata } from 'nice-grpc-common'
import type { Database } from '../database/database'
import { actorOfCall } from './actor'

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
