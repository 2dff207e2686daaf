import type { Actor, WebhooksServiceClient, WebhooksServiceImplementation } from '@leadwire/contracts'
import type { Database, Sealer } from '@leadwire/service-kit'
import type { Clock } from './clock'

/** What finds work in the database: the senders of both kinds, and the loops for changed endpoints, replays and reports. */
export type Loop = 'webhooks' | 'notifications' | 'syncs' | 'replays' | 'reports'

export interface Dependencies {
  database: Database
  notifications: Database
  actor?: Actor | undefined
  clock: Clock
  sealer: Sealer
  endpointsPerAccount: number
  /** Why the egress guard refuses the URL of the request. */
  refusal?: string | undefined
  deleteMessages: (eventIds: string[]) => Promise<void>
  /** How long an endpoint may only fail before it is disabled; Infinity: it never is. */
  disableAfterMs: number
  /** How long events and deliveries are kept at least; Infinity: for good. */
  keptMs: number
  longestPauseMs: number
  /** For how long deliveries of each kind are claimed. */
  claimMs: { webhooks: number; notifications: number }
  /** Starts a round of a loop at once, or after the commit of the operation's transaction. */
  wake: (loop: Loop) => void
}

type Implementation = WebhooksServiceImplementation

export type Operation<Name extends keyof Implementation> = (
  dependencies: Dependencies,
  request: Parameters<Implementation[Name]>[0],
) => Promise<Awaited<ReturnType<WebhooksServiceClient[Name]>>>
