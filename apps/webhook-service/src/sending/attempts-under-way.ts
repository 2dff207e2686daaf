import type { Database, Logger } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { ClaimedDelivery } from '../claim'
import type { DeliveryMetrics } from '../delivery-metrics'
import { createLargeBodies } from './large-bodies'
import type { Slots } from './slots'

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
  /** Called when something may begin again. */
  onFree: () => void
  /** Aborted when what comes to its end is no longer written down. */
  signal: AbortSignal
  metrics: DeliveryMetrics
  logger: Logger
}) => {
  const { database, attempt, record, slots, signal, metrics, logger } = options
  const underWay = new Map<ClaimedDelivery, Promise<void>>()
  const unrecorded = new Set<number>()
  const bodies = createLargeBodies(database)
  metrics.observeBodies(bodies.bytes)
  let pausedUntil = 0

  /** Ends claims whose attempts were not made, for no fault of their receivers: others may make them at once. */
  const release = async (unmade: ClaimedDelivery[]): Promise<void> => {
    await database.query({
      name: 'release-claims',
      text: `UPDATE deliveries d SET claim = NULL, claimed_until = NULL
             FROM unnest($1::bigint[], $2::int[]) AS unmade (id, claim)
             WHERE d.id = unmade.id AND d.claim = unmade.claim`,
      values: [unmade.map(({ id }) => id), unmade.map(({ claim }) => claim)],
    })
  }

  const writeDown = async (delivery: ClaimedDelivery, outcome: Outcome) => {
    unrecorded.add(delivery.id)
    await record(delivery, outcome)
    unrecorded.delete(delivery.id)
    if (unrecorded.size === UNRECORDED_AT_MOST - 1) options.onFree()
  }

  const make = async (delivery: ClaimedDelivery, largeBody?: Promise<Buffer>): Promise<Outcome> => {
    const slot = slots.start(delivery.endpointId)
    metrics.inFlight.inc()
    try {
      if (largeBody) delivery.body = await largeBody
      return await attempt(delivery)
    } finally {
      metrics.inFlight.dec()
      slots.finish(slot)
    }
  }

  const run = async (delivery: ClaimedDelivery, largeBody?: Promise<Buffer>) => {
    try {
      const outcome = await make(delivery, largeBody)
      if (signal.aborted) return
      if (outcome.error === 'ours') throw outcome.cause
      await writeDown(delivery, outcome)
    } catch (error) {
      if (signal.aborted) return
      pausedUntil = performance.now() + FAULT_PAUSE_MS
      logger.error(
        { err: error, delivery_id: delivery.id },
        'an attempt could not be made, for a fault of ours',
      )
      // Where that fails, the attempt is made when the claim ends.
      await release([delivery]).catch(() => undefined)
    } finally {
      underWay.delete(delivery)
      if (largeBody) bodies.letGo(delivery.eventId)
    }
  }

  return {
    /**
     * Makes attempts at what is claimed, as far as `mayBegin` lets them and large bodies have room in memory. The others are released, and
     * answered with.
     */
    begin: async (
      claimed: ClaimedDelivery[],
      mayBegin: (delivery: ClaimedDelivery) => boolean = () => true,
    ): Promise<ClaimedDelivery[]> => {
      const unmade: ClaimedDelivery[] = []
      for (const delivery of claimed) {
        const isLarge = delivery.bodyBytes > delivery.body.length
        const largeBody = isLarge && mayBegin(delivery) ? bodies.take(delivery) : undefined
        if (isLarge ? largeBody : mayBegin(delivery)) underWay.set(delivery, run(delivery, largeBody))
        else unmade.push(delivery)
      }
      if (unmade.length > 0) await release(unmade)
      return unmade
    },
    settled: () => Promise.all(underWay.values()),
    /** Deliveries whose attempts have ended: their claims may end, too, before that is written down. */
    unrecorded: (): number[] => [...unrecorded],
    /** Ends the claims of all that is under way. */
    releaseAll: () => release([...underWay.keys()]),
    /** For how many milliseconds nothing should begin; Infinity until `onFree` is called. */
    pausedFor: (): number =>
      unrecorded.size < UNRECORDED_AT_MOST ? pausedUntil - performance.now() : Number.POSITIVE_INFINITY,
  }
}
