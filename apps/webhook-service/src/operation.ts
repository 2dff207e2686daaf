import type { Actor, WebhooksServiceClient, WebhooksServiceImplementation } from '@leadwire/contracts'
import type { Database, Sealer } from '@leadwire/service-kit'
import type { Clock } from './clock'

/** What finds work in the database: the senders of both kinds, and the loops for changed endpoints and for recoveries. */
export type Loop = 'webhooks' | 'notifications' | 'syncs' | 'recoveries'

/** What operations depend on. */
export interface Dependencies {
  database: Database
  notifications: Database
  actor?: Actor | undefined
  clock: Clock
  sealer: Sealer
  endpointsPerAccount: number
  /** Deletes messages that were written to a folder. */
  deleteMessages: (eventIds: string[]) => Promise<void>
  /** How long an endpoint may only fail before it is disabled; Infinity: it never is. */
  disableAfterMs: number
  /** How long events and deliveries are kept at least; Infinity: for good. */
  keptMs: number
  longestPauseMs: number
  /** For how long deliveries of each kind are claimed. */
  claimMs: { webhooks: number; notifications: number }
  /** Starts a round of a loop at once. Operations of one transaction call it before the commit, and it waits for that. */
  wake: (loop: Loop) => void
}

type Implementation = WebhooksServiceImplementation
type Response<Name extends keyof Implementation> = Awaited<ReturnType<WebhooksServiceClient[Name]>>

/** An operation of the gRPC service, and the dependencies that it uses. */
export type Operation<Name extends keyof Implementation, Uses extends keyof Dependencies> = (
  dependencies: Pick<Dependencies, Uses>,
  request: Parameters<Implementation[Name]>[0],
) => Promise<Response<Name>>
