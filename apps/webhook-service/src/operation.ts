import type { Actor, WebhooksServiceClient, WebhooksServiceImplementation } from '@leadwire/contracts'
import type { Database, Sealer } from '@leadwire/service-kit'
import type { Clock } from './clock'

/**
 * The loops that an operation may wake: the senders of webhooks and of notifications, and loops that
 * `start-webhook-service.ts` runs.
 */
export type Loop = 'webhooks' | 'notifications' | 'syncs' | 'replays' | 'reports'

export interface Dependencies {
  database: Database
  notifications: Database
  actor?: Actor | undefined
  clock: Clock
  sealer: Sealer
  endpointsPerAccount: number
  /** The reason why the egress guard refuses the URL of the request. */
  refusal?: string | undefined
  deleteMessages: (eventIds: string[]) => Promise<void>
  /**
   * An endpoint is disabled when all its attempts have failed for this long. Infinity: no endpoint is
   * disabled.
   */
  disableAfterMs: number
  /** The shortest time that events and deliveries are kept. Infinity: no event or delivery is removed. */
  keptMs: number
  /** The longest pause between two scheduled attempts of a delivery. */
  longestPauseMs: number
  /** The length of a claim in milliseconds, for each kind of delivery. */
  claimMs: { webhooks: number; notifications: number }
  /** Starts a round of a loop at once. If an operation calls `wake`, the round starts after the commit. */
  wake: (loop: Loop) => void
}

type Implementation = WebhooksServiceImplementation

/** The function that implements one operation of the gRPC service. */
export type Operation<Name extends keyof Implementation> = (
  dependencies: Dependencies,
  request: Parameters<Implementation[Name]>[0],
) => Promise<Awaited<ReturnType<WebhooksServiceClient[Name]>>>
