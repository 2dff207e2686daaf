import { setTimeout as pause } from 'node:timers/promises'
import { type Database, gather } from '@leadwire/service-kit'
import { newClaim } from '../claim'
import type { Clock } from '../clock'
import { type FreshDelivery, type Stored, storeEvents } from '../events/store-events'
import type { StoredEvent } from '../events/stored-event'
import type { AttemptsUnderWay } from './attempts-under-way'
import { LARGE_BODY_BYTES } from './bodies-in-hand'
import type { ClaimedDelivery } from './claim-deliveries'
import type { KnownEndpoints } from './known-endpoints'
import type { Running, Slots } from './slots'

/** Nobody but JetStream waits for the disk; how long it does costs nothing, each flush does. */
const FLUSH_APART_MS = 100

/** Makes a function that waits until all that has been committed is on the disk. */
const createFlush = (database: Database) =>
  gather({
    // Whatever was committed before it on this server is on the disk when it has committed.
    send: async (waiting: undefined[]) => {
      await database.query({ name: 'flush', text: "SELECT pg_logical_emit_message(true, 'leadwire', '')" })
      await pause(FLUSH_APART_MS)
      return waiting
    },
    maxBatch: 10_000,
    maxInFlight: 1,
    maxQueued: 10_000,
  })

/** A delivery that was stored already claimed. */
const claimedDelivery = (
  { id, endpointId, url, accountId, sealedSecrets, secret, oldSecrets, eventId }: FreshDelivery,
  { accountKey, body, traceparent }: StoredEvent,
  { claim, dueAt }: { claim: number; dueAt: string },
): ClaimedDelivery => ({
  // Each property by its name: of parts that are spread V8 makes a hash table, of 7 KB.
  id,
  claim,
  attemptCount: 0,
  scheduledAttempts: 0,
  byHand: false,
  dueAt,
  storedAt: dueAt,
  endpointId,
  url,
  accountId,
  sealedSecrets,
  secret,
  oldSecrets,
  eventId,
  accountKey,
  body,
  traceparent,
})

/**
 * Stores events and begins at once what there is room for: such a delivery is stored already claimed, in the same
 * transaction, so that its first attempt waits for no claim and for no look. The rest waits to be claimed like any other.
 * Events that are there already change nothing.
 */
export const createIntake = (options: {
  database: Database
  queue: Database
  claimMs: number
  slots: Slots
  attempts: AttemptsUnderWay
  endpoints: KnownEndpoints
  /** Whether a fresh delivery of this endpoint may begin before all that waits. */
  mayBegin: (endpointId: number) => boolean
  onWaiting: (endpointIds: number[]) => void
  clock: Clock
  /** Aborted when nothing more may begin. */
  signal: AbortSignal
}): ((events: StoredEvent[]) => Promise<Stored>) => {
  const { database, queue, claimMs, slots, attempts, endpoints, clock, signal } = options
  const flush = createFlush(database)

  const grant = async (events: StoredEvent[]): Promise<Map<number, Running[]>> => {
    const granted = new Map<number, Running[]>()
    // Of large bodies only as many are taken as may be in hand: when they are claimed.
    const large = events.some(({ body }) => body.length > LARGE_BODY_BYTES)
    if (large || signal.aborted || attempts.pausedFor() > 0) return granted
    for (const [endpointId, wanted] of await endpoints.wantedBy(events)) {
      const running = options.mayBegin(endpointId) ? slots.take(endpointId, wanted) : []
      if (running.length > 0) granted.set(endpointId, running)
    }
    return granted
  }

  return async (events) => {
    const rooms = await grant(events)
    const claim = newClaim(claimMs)
    try {
      const dueAt = clock.now().toISOString()
      const deliveries = await storeEvents(queue, { events, dueAt, rooms, claim })
      const byId = new Map(events.map((event) => [event.id, event]))
      for (const fresh of deliveries) {
        if (!fresh.claimed) continue
        const delivery = claimedDelivery(fresh, byId.get(fresh.eventId)!, { claim: claim.number, dueAt })
        attempts.begin(delivery, rooms.get(fresh.endpointId)!.pop()!)
      }
      endpoints.learn(events, deliveries)
      options.onWaiting(deliveries.filter(({ claimed }) => !claimed).map(({ endpointId }) => endpointId))
    } finally {
      for (const unused of rooms.values()) for (const slot of unused) slots.drop(slot)
    }
    const durable = flush(undefined)
    // Whoever waits for it hears of it; nobody has to.
    durable.catch(() => undefined)
    return { durable }
  }
}
