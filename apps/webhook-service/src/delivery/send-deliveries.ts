import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createAlarm, type Database, limitRepeats, untilSuccess } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { createAttemptsInFlight } from './attempts-in-flight'
import { type ClaimedDelivery, claimDeliveries, newClaim } from './claim/claim-deliveries'
import type { ClaimLimits } from './claim/claim-new-deliveries'
import { createDueEndpoints, type DueEndpoint } from './claim/due-endpoints'
import { createPoller } from './claim/poll-due-endpoints'
import { createSlots } from './claim/slots'
import type { AttemptOptions } from './record/record-attempts'

/** The pause after a database error. It gives the record step time to write results before the next claim. */
const PAUSE_MS = 1000
/** How long attempts in flight may take to end when the service stops. */
const DRAIN_MS = 7000

export interface SendOptions extends AttemptOptions {
  queue: Database
  /** How long a claim is valid. An attempt should end and be recorded within this time. */
  claimMs: number
  /** How many attempts may have a slot at the same time. */
  concurrency: number
  /** How many attempts may be in flight at one endpoint. */
  endpointConcurrency: number
  /**
   * How long an attempt waits for its receiver before it gives its slot back. Infinity: the attempt keeps its
   * slot.
   */
  waitingAfterMs?: number
  idlePollMs?: number | undefined
  clock: Clock
}

/**
 * Claims due deliveries and makes their attempts. Runs two loops:
 *
 * - The poll loop finds the endpoints that have due deliveries.
 * - The claim loop claims deliveries of due endpoints while slots are free, and starts their attempts. It
 *   sleeps until a slot is free or an endpoint is due.
 *
 * The append step claims some of the deliveries that it creates and passes them to `onCreated`. This module
 * keeps due endpoints only in memory. After a crash, the next poll finds them again in the database.
 */
export const sendDeliveries = (options: SendOptions) => {
  const { queue, claimMs, concurrency, endpointConcurrency: perEndpoint, clock, metrics, logger } = options
  const { waitingAfterMs, idlePollMs } = options
  const failures = limitRepeats(logger)
  const stopping = new AbortController()
  const outOfTime = new AbortController()
  // Allows any number of listeners, because every attempt that waits for the database adds a listener.
  setMaxListeners(0, outOfTime.signal)

  const alarm = createAlarm()
  const dueEndpoints = createDueEndpoints()
  const addDue = (endpoints: DueEndpoint[]) => {
    for (const endpoint of endpoints) dueEndpoints.add(endpoint)
    if (endpoints.length > 0) alarm.wake()
  }
  const poller = createPoller({ queue, clock, claimMs, idlePollMs, onFound: addDue })
  const slots = createSlots({ concurrency, perEndpoint, waitingAfterMs, onFree: alarm.wake })
  metrics.observe('slots', 'Number of slots: how many attempts may be starting at once.', () => concurrency)
  metrics.observe(
    'slots_in_use',
    'Slots in use. An attempt that only waits for its receiver has no slot.',
    slots.inUse,
  )
  const attempts = createAttemptsInFlight({
    ...options,
    slots,
    onFree: alarm.wake,
    onRetry: (endpoint) => {
      if (!poller.findsInTime(endpoint.dueAt)) addDue([endpoint])
    },
    signal: outOfTime.signal,
  })

  /**
   * The endpoints of the claim that is running, each with the number of its deliveries that may still be
   * claimed.
   */
  let claiming = new Map<number, number>()

  const claim = async (rooms: Map<number, number>, now: Date) => {
    // Removes the endpoints before the claim, so that endpoints that become due during the claim are kept.
    const from = dueEndpoints.take(rooms)
    claiming = rooms
    try {
      const except = attempts.unrecorded()
      const claimed = await claimDeliveries(queue, { rooms, from, now, except, claim: newClaim(claimMs) })
      const unmade = new Set(await attempts.start(claimed))
      for (const { endpointId, manual } of claimed)
        if (!manual) rooms.set(endpointId, rooms.get(endpointId)! - 1)
      // Keeps an endpoint due if the claim has used all its room, or has taken a manual attempt, because the
      // endpoint may have more due deliveries. Deliveries whose large body did not fit into memory wait for
      // the next poll.
      const made = claimed.filter((delivery) => !unmade.has(delivery))
      for (const delivery of made)
        if (delivery.manual || rooms.get(delivery.endpointId) === 0) dueEndpoints.add(delivery)
    } finally {
      claiming = new Map()
      poller.wakeSoon()
    }
  }

  const claimOrSleep = async () => {
    const now = clock.now()
    const { due, next } = dueEndpoints.at(now.getTime())
    const pausedMs = attempts.pausedFor()
    if (pausedMs > 0) {
      await alarm.sleep(pausedMs)
      return
    }
    const rooms = slots.allot([...due.values()])
    if (rooms.size > 0) await claim(rooms, now)
    else await alarm.sleep(next - now.getTime())
  }

  const startCreated = async (claimed: ClaimedDelivery[]) => {
    // Checks the limits again, because a claim may have begun during the append.
    const kept = [...claiming.values()].reduce((sum, room) => sum + room, 0)
    const mayStart = ({ endpointId }: ClaimedDelivery) =>
      !stopping.signal.aborted && !claiming.has(endpointId) && slots.hasRoomFor(endpointId, kept)
    addDue(await attempts.start(claimed, mayStart))
  }

  const repeat = (work: () => Promise<void>) =>
    untilSuccess(
      async () => {
        while (!stopping.signal.aborted) await work()
      },
      {
        signal: stopping.signal,
        pauseMs: PAUSE_MS,
        onFailure: (error) => failures.warn({ err: error }, 'could not poll or claim deliveries; retrying'),
      },
    ).catch(() => undefined)
  const running = [repeat(poller.poll), repeat(claimOrSleep)]

  return {
    /**
     * Returns how many deliveries the append step may claim when it creates deliveries for these accounts.
     * Without these claims a webhook arrives a third later: at 200 leads a second 12.9 ms instead of 9.6 ms
     * after the response to its create (p50, measured in alternating rounds on a slow machine).
     */
    findClaimLimits: (accountIds: Set<number>): ClaimLimits => {
      const { due } = dueEndpoints.at(clock.now().getTime())
      const waiting = new Set([...accountIds].flatMap((id) => due.get(id) ?? []))
      const mayStart = !stopping.signal.aborted && attempts.pausedFor() <= 0
      return {
        claim: newClaim(claimMs),
        deliveries: mayStart ? slots.claimable() : 0,
        perEndpoint,
        // Leaves an endpoint to the claim loop while older deliveries of the endpoint are due, because they
        // must be attempted first. Also leaves a failing endpoint to the claim loop, because the claim loop
        // serves healthy endpoints first.
        mayClaim: (endpointId) =>
          !claiming.has(endpointId) && !waiting.has(endpointId) && !slots.isFailing(endpointId),
      }
    },
    /**
     * Starts the attempts of deliveries that this process claimed when it created them. `due` has the
     * endpoints of the deliveries that were created without a claim.
     */
    onCreated: ({ claimed, due }: { claimed: ClaimedDelivery[]; due: DueEndpoint[] }): void => {
      addDue(due)
      startCreated(claimed).catch((error) =>
        failures.warn({ err: error }, 'could not start deliveries; retrying when their claims expire'),
      )
    },
    wake: poller.wake,
    /**
     * Stops claiming, waits at most 7 s for the attempts in flight, and releases the claims of the attempts
     * that are not recorded by then.
     */
    stop: async (): Promise<void> => {
      stopping.abort()
      poller.stop()
      alarm.wake()
      await Promise.all(running)
      await Promise.race([attempts.done(), pause(DRAIN_MS, undefined, { ref: false })])
      outOfTime.abort()
      await attempts
        .releaseAll()
        .catch((error) =>
          logger.warn(
            { err: error },
            'could not release claims; attempts are repeated when the claims expire',
          ),
        )
    },
  }
}

export type Sender = ReturnType<typeof sendDeliveries>
