import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, gather, type Logger, ServiceError } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import type { StoredEvent } from '../events/read-lead-created'
import { storeEvents } from '../events/store-events'
import type { Stored } from '../events/store-result'
import type { AttemptsUnderWay } from './attempts-under-way'
import { keepIntakeSession } from './intake-session'
import type { KnownEndpoints } from './known-endpoints'
import type { Running, Slots } from './slots'
import type { WorkerSession } from './worker-session'

/** Few lanes are stored at once: none of them may wait for a lock as long as a statement has. */
const APART = { name: 'lock-timeout-apart', text: `SELECT set_config('lock_timeout', '1s', true)` }

/** Nobody but JetStream waits for the disk; how long it does costs nothing, each flush does. */
const FLUSH_APART_MS = 50

/**
 * Stores events and begins at once what there is room for: such a delivery is stored already claimed, in the same
 * transaction, so that its first attempt waits for no claim and for no look. The rest waits to be claimed like any other.
 *
 * It claims as a worker of its own, over a connection of its own: fresh deliveries wait for none of the statements that
 * find and claim what was there before. While that connection is away events are stored without claims.
 */
export const createIntake = (options: {
  database: Database
  workerId: number
  slots: Slots
  attempts: AttemptsUnderWay
  endpoints: KnownEndpoints
  /** Whether a fresh delivery of this endpoint may begin before all that waits. */
  mayBegin: (endpointId: number) => boolean
  onWaiting: (endpointIds: number[]) => void
  clock: Clock
  signal: AbortSignal
  logger: Logger
}) => {
  const { database, workerId, slots, attempts, endpoints, clock, signal, logger } = options
  const kept = keepIntakeSession({ database, workerId, attempts, signal, logger })
  // A database that crashes may have forgotten a delivery that was not yet on its disk, and give its id to another.
  let claims = randomInt(2 ** 30)

  // Whatever was committed before it on this server is on the disk when it has committed.
  const flush = gather({
    send: async (waiting: undefined[]) => {
      await database.query({ name: 'flush', text: "SELECT pg_logical_emit_message(true, 'leadwire', '')" })
      await pause(FLUSH_APART_MS)
      return waiting
    },
    maxBatch: 10_000,
    maxInFlight: 1,
    maxQueued: 10_000,
  })

  const grant = async (events: StoredEvent[]): Promise<Map<number, Running[]>> => {
    const granted = new Map<number, Running[]>()
    if (signal.aborted || attempts.pausedFor() > 0) return granted
    for (const [endpointId, wanted] of await endpoints.wantedBy(events)) {
      const running = options.mayBegin(endpointId) ? slots.take(endpointId, wanted) : []
      if (running.length > 0) granted.set(endpointId, running)
    }
    return granted
  }

  const storeThrough = async (through: WorkerSession, events: StoredEvent[]): Promise<Stored> => {
    const granted = await grant(events)
    const claim = ++claims
    try {
      const dueAt = clock.now().toISOString()
      const claimedBy = { workerId, claim, rooms: granted }
      const deliveries = await storeEvents(through, { events, dueAt, claimedBy })
      const byId = new Map(events.map((event) => [event.id, event]))
      for (const { id, eventId, endpointId, claimed, url, secret, oldSecrets } of deliveries) {
        if (!claimed) continue
        const { accountKey, body, traceparent } = byId.get(eventId)!
        // Each property by its name: of parts that are spread V8 makes a hash table, of 7 KB.
        const delivery = {
          id,
          claimedBy: workerId,
          claim,
          attemptCount: 0,
          scheduledAttempts: 0,
          byHand: false,
          dueAt,
          storedAt: dueAt,
          endpointId,
          url,
          secret,
          oldSecrets,
          eventId,
          accountKey,
          body,
          traceparent,
        }
        attempts.begin(delivery, granted.get(endpointId)!.pop()!)
      }
      endpoints.learn(events, deliveries)
      options.onWaiting(deliveries.filter(({ claimed }) => !claimed).map(({ endpointId }) => endpointId))
    } finally {
      for (const unused of granted.values()) for (const slot of unused) slots.drop(slot)
    }
    const durable = flush(undefined)
    // Whoever waits for it hears of it; nobody has to.
    durable.catch(() => undefined)
    return { durable }
  }

  const storeUnclaimed = async (events: StoredEvent[]): Promise<Stored> => {
    const dueAt = clock.now().toISOString()
    const deliveries = await database.transaction((tx) => {
      tx.send(APART)
      return storeEvents(tx, { events, dueAt })
    })
    endpoints.learn(events, deliveries)
    options.onWaiting(deliveries.map(({ endpointId }) => endpointId))
    return { durable: Promise.resolve() }
  }

  return {
    /** Those that are there already change nothing. */
    store: async (events: StoredEvent[]): Promise<Stored> => {
      const through = kept.session()
      if (!through) return storeUnclaimed(events)
      try {
        return await storeThrough(through, events)
      } catch (error) {
        // What became of the claims is not known; of a statement that PostgreSQL cut off, that there are none.
        if (error instanceof ServiceError && error.code !== 'late') kept.lose(error)
        throw error
      }
    },
    /** The same without claims, over any connection: others' events do not wait for these. */
    storeApart: storeUnclaimed,
    /** Lets others have what is still claimed. */
    stop: kept.stop,
  }
}
