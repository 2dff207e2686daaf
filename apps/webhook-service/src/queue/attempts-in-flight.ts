import type { Database, Logger } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import { statement } from '../statement'
import type { ClaimedDelivery } from './claim'
import type { DeliveryMetrics } from './delivery-metrics'
import { createLargeBodies } from './large-bodies'
import type { Slots } from './slots'

/** After an error of ours, such as no free sockets, no attempt starts for a moment. */
const ERROR_PAUSE_MS = 1000
/**
 * While so many attempts have ended without a record, none starts. Else a claim could end before its attempt is recorded, and the
 * attempt would be made again (seen: where receivers refuse quickly, 300,000 attempts at 30,000 deliveries).
 */
const MAX_UNRECORDED = 1000

const releaseClaims = statement('release-claims')`
  UPDATE deliveries d SET claim = NULL, claimed_until = NULL
  FROM unnest($1::bigint[], $2::int[]) AS unmade (id, claim) WHERE d.id = unmade.id AND d.claim = unmade.claim`

/** The attempts of this process: what is claimed, and not recorded or released. */
export const createAttemptsInFlight = (options: {
  database: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  record: (delivery: ClaimedDelivery, outcome: Outcome) => Promise<void>
  slots: Slots
  /** Called when an attempt may start that could not before. */
  onFree: () => void
  signal: AbortSignal
  metrics: DeliveryMetrics
  logger: Logger
}) => {
  const { database, attempt, record, slots, signal, metrics, logger } = options
  const inFlight = new Map<ClaimedDelivery, Promise<void>>()
  const unrecorded = new Set<number>()
  const bodies = createLargeBodies(database)
  metrics.observeBodies(bodies.bytes)
  let pausedUntil = 0

  /** Ends the claims of attempts that were not made: others may make them at once. */
  const release = async (unmade: ClaimedDelivery[]): Promise<void> => {
    const claims = unmade.map(({ claim }) => claim)
    await releaseClaims(
      database,
      unmade.map(({ id }) => id),
      claims,
    )
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
      unrecorded.add(delivery.id)
      await record(delivery, outcome)
      unrecorded.delete(delivery.id)
      if (unrecorded.size === MAX_UNRECORDED - 1) options.onFree()
    } catch (error) {
      if (signal.aborted) return
      pausedUntil = performance.now() + ERROR_PAUSE_MS
      logger.error({ err: error, delivery_id: delivery.id }, 'could not make an attempt, by an error of ours')
      // If that fails, the attempt is made when the claim ends.
      await release([delivery]).catch(() => undefined)
    } finally {
      inFlight.delete(delivery)
      if (largeBody) bodies.release(delivery.eventId)
    }
  }

  return {
    /** Makes attempts at claimed deliveries, if `mayStart` and the room for large bodies allow; releases and returns the others. */
    start: async (
      claimed: ClaimedDelivery[],
      mayStart: (delivery: ClaimedDelivery) => boolean = () => true,
    ): Promise<ClaimedDelivery[]> => {
      const unmade: ClaimedDelivery[] = []
      for (const delivery of claimed) {
        const isLarge = delivery.bodyBytes > delivery.body.length
        const held = isLarge && mayStart(delivery) ? await bodies.hold(delivery) : undefined
        if (isLarge ? held : mayStart(delivery)) inFlight.set(delivery, run(delivery, held?.bytes))
        else unmade.push(delivery)
      }
      if (unmade.length > 0) await release(unmade)
      return unmade
    },
    done: () => Promise.all(inFlight.values()),
    /** Deliveries whose attempts have ended without a record yet; their claims may end as well. */
    unrecorded: (): number[] => [...unrecorded],
    releaseAll: () => release([...inFlight.keys()]),
    /** For how many milliseconds no attempt should start; Infinity until `onFree` is called. */
    pausedFor: (): number =>
      unrecorded.size < MAX_UNRECORDED ? pausedUntil - performance.now() : Number.POSITIVE_INFINITY,
  }
}
