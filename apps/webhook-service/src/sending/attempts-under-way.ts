import { type Database, gather, type Logger } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { DeliveryMetrics } from '../delivery-metrics'
import type { BodiesInHand } from './bodies-in-hand'
import type { ClaimedDelivery } from './claim-deliveries'
import type { Running, Slots } from './slots'

/** After a fault of ours, such as no free sockets, nothing starts for a moment. */
const FAULT_PAUSE_MS = 1000
/**
 * While so many attempts have ended and are not written down, nothing starts. Else a claim could end before its attempt is written
 * down, and the attempt be made again (seen: where receivers refuse quickly, 300,000 attempts at 30,000 deliveries).
 */
const UNRECORDED_AT_MOST = 1000

/** The attempts of this process: what is claimed, and not yet written down or released. */
export const createAttemptsUnderWay = (options: {
  database: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  record: (delivery: ClaimedDelivery, outcome: Outcome) => Promise<void>
  slots: Slots
  bodies: BodiesInHand
  /** Called when something may begin again. */
  onFree: () => void
  /** Aborted when what comes to its end is no longer written down. */
  signal: AbortSignal
  metrics: DeliveryMetrics
  logger: Logger
}) => {
  const { database, attempt, record, slots, bodies, signal, metrics, logger } = options
  // In the order of their beginning.
  const underWay = new Map<ClaimedDelivery, { run: Promise<void>; begunAt: number }>()
  let pausedUntil = 0
  let unrecorded = 0

  // Ends claims whose attempts were not made, for no fault of their receivers: others may make them at once.
  const release = gather({
    send: async (unmade: ClaimedDelivery[]) => {
      await database.query({
        name: 'release-claims',
        text: `UPDATE deliveries d SET claim = NULL, claimed_until = NULL
               FROM unnest($1::bigint[], $2::int[]) AS unmade (id, claim)
               WHERE d.id = unmade.id AND d.claim = unmade.claim`,
        values: [unmade.map(({ id }) => id), unmade.map(({ claim }) => claim)],
      })
      return unmade
    },
    maxBatch: 1000,
    maxInFlight: 1,
    maxQueued: 100_000,
  })

  const writeDown = async (delivery: ClaimedDelivery, outcome: Outcome) => {
    unrecorded += 1
    try {
      await record(delivery, outcome)
    } finally {
      unrecorded -= 1
      if (unrecorded === UNRECORDED_AT_MOST - 1) options.onFree()
    }
  }

  const run = async (delivery: ClaimedDelivery, slot: Running) => {
    try {
      metrics.inFlight.inc()
      const outcome = await attempt(delivery)
      slots.finish(slot)
      metrics.inFlight.dec()
      options.onFree()
      if (signal.aborted) return
      if (outcome.error !== 'ours') return await writeDown(delivery, outcome)
      pausedUntil = performance.now() + FAULT_PAUSE_MS
      logger.error(
        { err: outcome.cause, delivery_id: delivery.id },
        'an attempt could not be made, for a fault of ours',
      )
      await release(delivery)
    } catch (error) {
      // The attempt is made again when its claim ends.
      if (!signal.aborted) logger.error({ err: error, delivery_id: delivery.id }, 'an attempt got lost')
    } finally {
      bodies.letGo(delivery.eventId)
      underWay.delete(delivery)
    }
  }

  return {
    begin: (delivery: ClaimedDelivery, slot: Running): void => {
      delivery.body = bodies.hold(delivery.eventId, delivery.body)
      underWay.set(delivery, { run: run(delivery, slot), begunAt: performance.now() })
    },
    settled: () => Promise.all([...underWay.values()].map(({ run }) => run)),
    /** The deliveries whose attempts began so many milliseconds ago or earlier. */
    olderThan: (ageMs: number): number[] => {
      const ids: number[] = []
      for (const [{ id }, { begunAt }] of underWay) {
        if (begunAt > performance.now() - ageMs) break
        ids.push(id)
      }
      return ids
    },
    /** Ends the claims of all that is under way. */
    releaseAll: () => Promise.all([...underWay.keys()].map((delivery) => release(delivery))),
    /** For how many milliseconds nothing should begin; Infinity until `onFree` is called. */
    pausedFor: (): number =>
      unrecorded < UNRECORDED_AT_MOST ? pausedUntil - performance.now() : Number.POSITIVE_INFINITY,
  }
}

export type AttemptsUnderWay = ReturnType<typeof createAttemptsUnderWay>
