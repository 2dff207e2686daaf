import { columnsByName, limitRepeats, ServiceError, statement } from '@leadwire/service-kit'
import { createLargeBodies, type LargeBody } from './attempt/large-bodies'
import type { Outcome } from './attempt/make-attempt'
import type { ClaimedDelivery } from './claim/claim-deliveries'
import type { DueEndpoint } from './claim/due-endpoints'
import type { Slots } from './claim/slots'
import { type AttemptOptions, createAttemptRecorder, type Unmade } from './record/record-attempts'

/** How long nothing is claimed after an internal error, such as a lack of free sockets. */
const ERROR_PAUSE_MS = 1000
/**
 * Nothing is claimed while this many attempts wait to be recorded. Without this limit, claims expired before
 * their attempts were recorded, and a test made 300,000 attempts for 30,000 deliveries.
 */
const MAX_UNRECORDED = 1000

const releaseClaims = statement('release-claims')`
  UPDATE deliveries d SET claim = NULL, claimed_until = NULL
  FROM unnest(:id::bigint[], :claim::int[]) AS unmade (id, claim) WHERE d.id = unmade.id AND d.claim = unmade.claim`

/**
 * Makes the attempts of this process and records their outcomes. A claimed delivery is in one of these
 * states:
 *
 * - in flight: its attempt has a slot, or waits without a slot for the response of its receiver.
 * - unrecorded: its attempt has ended and waits for the record step.
 * - finished: the attempt is recorded, or the claim is released. `onRetry` is called if another attempt
 *   follows.
 *
 * An attempt that fails with an internal error is not recorded. Normally the claim is then released, and
 * nothing is claimed for a second, because the process may have no free sockets or the database may be
 * unavailable. If the error concerns only this delivery (for example, none of the keys decrypts its secret),
 * other attempts go on, and the claim stays until it expires.
 *
 * `onFree` is called when the number of unrecorded attempts falls below its limit.
 */
export const createAttemptsInFlight = (
  options: AttemptOptions & {
    slots: Slots
    onFree: () => void
    onRetry: (retry: DueEndpoint) => void
    /** Aborts when the service stops waiting for attempts. */
    signal: AbortSignal
  },
) => {
  const { database, attempt, slots, signal, metrics, onFree, onRetry } = options
  const failures = limitRepeats(options.logger)
  const record = createAttemptRecorder(options)
  const inFlight = new Map<ClaimedDelivery, Promise<void>>()
  const unrecorded = new Set<number>()
  const bodies = createLargeBodies(database)
  metrics.observe(
    'large_bodies_bytes',
    'Bytes of the large bodies of attempts in flight. Deliveries of one event share a body.',
    bodies.bytes,
  )
  let pausedUntil = 0
  const pauseFor = (milliseconds: number) => {
    pausedUntil = Math.max(pausedUntil, performance.now() + milliseconds)
  }

  const release = (deliveries: ClaimedDelivery[]) => {
    // Sorts by id. All statements that wait for the locks of several deliveries lock them in this order, so
    // that they cannot deadlock.
    const inOrder = deliveries.toSorted((a, b) => a.id - b.id)
    return releaseClaims(database, columnsByName(inOrder, 'id', 'claim'))
  }

  const make = async (delivery: ClaimedDelivery, largeBody?: LargeBody): Promise<Outcome | Unmade> => {
    const finish = slots.start(delivery.endpointId)
    metrics.inFlight.inc()
    let hasFailed: boolean | undefined
    try {
      const body = largeBody ? await largeBody : delivery.body
      // The event was removed or erased after the claim, so there is nothing to send.
      if (!body) return { retryAt: null }
      const outcome = await attempt(Object.assign(delivery, { body }))
      const counts = 'error' in outcome && outcome.error !== 'internal'
      if (counts) hasFailed = outcome.error !== null
      return outcome
    } finally {
      metrics.inFlight.dec()
      finish(hasFailed)
    }
  }

  const recordOutcome = async (delivery: ClaimedDelivery, outcome: Outcome) => {
    unrecorded.add(delivery.id)
    const retryAt = await record(delivery, outcome)
    if (retryAt) onRetry({ ...delivery, dueAt: retryAt.getTime() })
    unrecorded.delete(delivery.id)
    if (unrecorded.size === MAX_UNRECORDED - 1) onFree()
  }

  const postpone = (delivery: ClaimedDelivery, { retryAt, pauseMs }: Unmade) => {
    if (pauseMs !== undefined) pauseFor(pauseMs)
    if (retryAt) onRetry({ ...delivery, dueAt: retryAt.getTime() })
  }

  const handleInternalError = async (delivery: ClaimedDelivery, error: unknown) => {
    // The error concerns only this delivery. For example, none of the keys decrypts its secret. Other
    // deliveries go on. The delivery keeps its claim and is attempted again when the claim expires.
    if (error instanceof ServiceError && error.code === 'internal') {
      failures.error(
        { err: error, delivery_id: delivery.id },
        'attempt not made because of an internal error; retrying when the claim expires',
      )
      return
    }
    pauseFor(ERROR_PAUSE_MS)
    failures.error(
      { err: error, delivery_id: delivery.id },
      'attempt not made because of an internal error; the delivery was released',
    )
    try {
      await release([delivery])
    } catch {
      // The attempt is repeated when the claim expires.
      return
    }
    onRetry(delivery)
  }

  const run = async (delivery: ClaimedDelivery, largeBody?: LargeBody) => {
    try {
      const outcome = await make(delivery, largeBody)
      if (signal.aborted) return
      if ('retryAt' in outcome) postpone(delivery, outcome)
      else if (outcome.error === 'internal') await handleInternalError(delivery, outcome.cause)
      else await recordOutcome(delivery, outcome)
    } catch (error) {
      if (!signal.aborted) await handleInternalError(delivery, error)
    } finally {
      inFlight.delete(delivery)
      if (largeBody) bodies.release(delivery)
    }
  }

  return {
    /**
     * Starts the attempts of claimed deliveries. Releases the claims of deliveries that `mayStart` refuses,
     * or whose large body does not fit into memory, and resolves with these deliveries.
     */
    start: async (
      claimed: ClaimedDelivery[],
      mayStart: (delivery: ClaimedDelivery) => boolean = () => true,
    ): Promise<ClaimedDelivery[]> => {
      const unmade: ClaimedDelivery[] = []
      for (const delivery of claimed) {
        if (!mayStart(delivery)) {
          unmade.push(delivery)
          continue
        }
        const isLarge = delivery.bodyBytes > delivery.body.length
        const held = isLarge ? await bodies.hold(delivery) : undefined
        if (isLarge && !held) unmade.push(delivery)
        else inFlight.set(delivery, run(delivery, held?.bytes))
      }
      if (unmade.length > 0) await release(unmade)
      return unmade
    },
    done: () => Promise.all(inFlight.values()),
    /**
     * Returns the deliveries whose attempts have ended and are not recorded yet. These deliveries must not be
     * claimed again, even if their claims have expired.
     */
    unrecorded: (): number[] => [...unrecorded],
    releaseAll: () => release([...inFlight.keys()]),
    /**
     * Returns for how many milliseconds nothing should be claimed. Infinity: until `onFree` is called. Zero
     * or less: deliveries may be claimed now.
     */
    pausedFor: (): number =>
      unrecorded.size < MAX_UNRECORDED ? pausedUntil - performance.now() : Number.POSITIVE_INFINITY,
  }
}
