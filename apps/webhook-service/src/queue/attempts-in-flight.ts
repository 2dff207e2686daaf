import { columnsOf, statement } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { ClaimedDelivery } from './claim-deliveries'
import type { DueEndpoint } from './due-endpoints'
import { createLargeBodies, type LargeBody } from './large-bodies'
import { type AttemptOptions, createAttemptRecorder, type Unmade } from './record-attempts'
import type { Slots } from './slots'

/** After an error of ours, such as no free sockets, no attempt starts for a moment. */
const ERROR_PAUSE_MS = 1000
/** Beyond it none starts: else claims end before their attempts are recorded (seen: 300,000 attempts at 30,000 deliveries). */
const MAX_UNRECORDED = 1000

const releaseClaims = statement('release-claims')`
  UPDATE deliveries d SET claim = NULL, claimed_until = NULL
  FROM unnest($1::bigint[], $2::int[]) AS unmade (id, claim) WHERE d.id = unmade.id AND d.claim = unmade.claim`

/** What is claimed, and not recorded or released. `onFree` is called when an attempt may start that could not before. */
export const createAttemptsInFlight = (
  options: AttemptOptions & {
    slots: Slots
    onFree: () => void
    /** Called when an attempt was recorded or released that is made again. */
    onRetry: (retry: DueEndpoint) => void
    signal: AbortSignal
  },
) => {
  const { database, attempt, slots, signal, metrics, logger } = options
  const record = createAttemptRecorder(options)
  const inFlight = new Map<ClaimedDelivery, Promise<void>>()
  const unrecorded = new Set<number>()
  const bodies = createLargeBodies(database)
  metrics.observe(
    'bodies_in_hand_bytes',
    'Large bodies of attempts in flight; one for all deliveries of an event.',
    bodies.bytes,
  )
  let pausedUntil = 0

  const release = (unmade: ClaimedDelivery[]) => releaseClaims(database, ...columnsOf(unmade, 'id', 'claim'))

  const make = async (delivery: ClaimedDelivery, largeBody?: LargeBody): Promise<Outcome | Unmade> => {
    const finish = slots.start(delivery.endpointId)
    metrics.inFlight.inc()
    try {
      const body = largeBody ? await largeBody : delivery.body
      // Removed or erased since the claim: there is nothing to send.
      if (!body) return { retryAt: null }
      return await attempt(Object.assign(delivery, { body }))
    } finally {
      metrics.inFlight.dec()
      finish()
    }
  }

  const run = async (delivery: ClaimedDelivery, largeBody?: LargeBody) => {
    try {
      const outcome = await make(delivery, largeBody)
      if (signal.aborted) return
      if ('retryAt' in outcome) {
        if (outcome.retryAt) options.onRetry({ ...delivery, dueAt: outcome.retryAt.getTime() })
        return
      }
      if (outcome.error === 'ours') throw outcome.cause
      unrecorded.add(delivery.id)
      const retryAt = await record(delivery, outcome)
      if (retryAt) options.onRetry({ ...delivery, dueAt: retryAt.getTime() })
      unrecorded.delete(delivery.id)
      if (unrecorded.size === MAX_UNRECORDED - 1) options.onFree()
    } catch (error) {
      if (signal.aborted) return
      pausedUntil = performance.now() + ERROR_PAUSE_MS
      logger.error({ err: error, delivery_id: delivery.id }, 'could not make an attempt, by an error of ours')
      // If that fails, the attempt is made when the claim ends.
      await release([delivery]).then(
        () => options.onRetry(delivery),
        () => undefined,
      )
    } finally {
      inFlight.delete(delivery)
      if (largeBody) bodies.release(delivery)
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
