import type { Database } from '../database/database'

/**
 * An operation as the method of a gRPC service. It is made anew for each call, with the database for that call alone:
 * nothing more is begun when the caller has gone or their time is over.
 */
export const perCall =
  <Deps extends { database: Database }, Request, Response>(
    deps: Deps,
    operation: (deps: Deps) => (request: Request) => Promise<Response>,
  ) =>
  (request: Request, { signal }: { signal: AbortSignal }): Promise<Response> =>
    operation({ ...deps, database: deps.database.until(signal) })(request)
