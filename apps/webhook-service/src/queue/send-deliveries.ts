import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createAlarm, type Database, untilSuccess } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { createAttemptsInFlight } from './attempts-in-flight'
import { type Claim, type ClaimedDelivery, claimDeliveries, newClaim } from './claim-deliveries'
import {
  createDueEndpoints,
  type DueEndpoint,
  findClaimed,
  findDueEndpoints,
  firstPending,
} from './due-endpoints'
import type { AttemptOptions } from './record-attempts'
import { createSlots } from './slots'

/** How often the database is polled for what other processes stored or released. */
const POLL_EVERY_MS = 250
/** The same after several polls that found nothing due. */
const IDLE_POLL_MS = 5000
/** While an attempt is claimed: its process may have died, and then it is made again soon after its claim ends. */
const CLAIMED_POLL_MS = 500
/** How far a poll sees beyond the next one; what becomes due meanwhile starts on time. */
const AHEAD_MS = 2000
/** The pause after a full poll, as a multiple of its duration. */
const FULL_POLL_PAUSE = 20
/** A delivery is stored at most so long after it became due: no statement takes longer. */
const STORED_WITHIN_MS = 10_000
/** When the database comes back, results that waited for it are recorded before anything is claimed. */
const PAUSE_MS = 1000
const DRAIN_MS = 7000

/** What the statement that stores events may claim. */
export interface Claimable {
  claim: Claim
  /** How many deliveries, in all and of each endpoint. */
  claimable: number
  perEndpoint: number
  /** Endpoints of which nothing is claimed: older deliveries of theirs are due. */
  waiting: number[]
}

export interface SendOptions extends AttemptOptions {
  queue: Database
  /** For how many milliseconds a claim is valid: every attempt has ended by then, and is recorded. */
  claimMs: number
  concurrency: number
  endpointConcurrency: number
  waitingAfterMs?: number
  idlePollMs?: number | undefined
  clock: Clock
}

export const sendDeliveries = (options: SendOptions) => {
  const { queue, claimMs, concurrency, endpointConcurrency: perEndpoint, clock, metrics, logger } = options
  const stopping = new AbortController()
  const outOfTime = new AbortController()
  // Every attempt that waits for the database listens to it.
  setMaxListeners(0, outOfTime.signal)
  const polls = createAlarm()
  const claims = createAlarm()
  const { waitingAfterMs, idlePollMs = IDLE_POLL_MS } = options
  const onFree = claims.wake
  const slots = createSlots({ concurrency, perEndpoint, waitingAfterMs, onFree })
  metrics.observe('slots', 'Slots of attempts: so many may have one at the same time.', () => concurrency)
  metrics.observe(
    'slots_in_use',
    'Slots in use. An attempt that only waits for its receiver has none.',
    slots.inUse,
  )
  const dueEndpoints = createDueEndpoints()
  // The endpoints of the claim in flight, and how many deliveries of each it may bring.
  let claiming = new Map<number, number>()

  const addDue = (endpoints: DueEndpoint[]) => {
    for (const endpoint of endpoints) dueEndpoints.add(endpoint)
    if (endpoints.length > 0) claims.wake()
  }
  /** For retries that are due before a poll finds them. */
  const onRetry = (endpoint: DueEndpoint) => {
    if (endpoint.dueAt < clock.now().getTime() + idlePollMs + AHEAD_MS) addDue([endpoint])
  }
  const attempts = createAttemptsInFlight({ ...options, slots, onFree, onRetry, signal: outOfTime.signal })

  // Of each endpoint only its next delivery is known: what follows is found by a poll.
  let soon: NodeJS.Timeout | undefined
  const pollSoon = () => {
    soon ??= setTimeout(() => {
      soon = undefined
      polls.wake()
    }, POLL_EVERY_MS)
  }

  const claim = async (rooms: Map<number, number>, now: Date) => {
    // Before the claim: what is stored while it runs must stay known after it.
    const from = dueEndpoints.take(rooms)
    claiming = rooms
    try {
      const except = attempts.unrecorded()
      const claimed = await claimDeliveries(queue, { rooms, from, now, except, claim: newClaim(claimMs) })
      const unmade = await attempts.start(claimed)
      for (const { endpointId, manual } of claimed)
        if (!manual) rooms.set(endpointId, rooms.get(endpointId)! - 1)
      // What has no room in memory waits for the next poll.
      for (const delivery of claimed) {
        const maybeMore = delivery.manual || rooms.get(delivery.endpointId) === 0
        if (maybeMore && !unmade.includes(delivery)) dueEndpoints.add(delivery)
      }
    } finally {
      claiming = new Map()
      pollSoon()
    }
  }

  const startStored = async (claimed: ClaimedDelivery[]) => {
    const kept = [...claiming.values()].reduce((sum, room) => sum + room, 0)
    const mayStart = ({ endpointId }: ClaimedDelivery) =>
      !claiming.has(endpointId) && slots.hasRoomFor(endpointId, kept)
    addDue(await attempts.start(claimed, mayStart))
  }

  // While an old snapshot is open, a full poll reads past each delivery that was pending since. So full polls take a part of the time.
  let fullPollAt = 0
  let from: Date | undefined
  let sleepMs = POLL_EVERY_MS

  const poll = async () => {
    const startedAt = performance.now()
    const now = clock.now().getTime()
    if (startedAt >= fullPollAt) from = undefined
    const found = await findDueEndpoints(queue, new Date(now + sleepMs + AHEAD_MS), from ?? new Date(0))
    addDue(found)
    if (found.some(({ dueAt }) => dueAt <= now)) sleepMs = POLL_EVERY_MS
    const pauseMs = (performance.now() - startedAt) * FULL_POLL_PAUSE
    if (!from && pauseMs > POLL_EVERY_MS) {
      const [first] = await firstPending(queue)
      from = new Date(Math.min(now - STORED_WITHIN_MS, first ? Date.parse(first.at) : now))
      fullPollAt = performance.now() + pauseMs
    }
    const woken = await polls.sleep(sleepMs)
    sleepMs = woken ? POLL_EVERY_MS : Math.min(sleepMs * 2, idlePollMs)
    if (sleepMs > CLAIMED_POLL_MS && (await findClaimed(queue, clock.now(), from ?? new Date(0))).length > 0)
      sleepMs = CLAIMED_POLL_MS
  }

  const claimOrSleep = async () => {
    const now = clock.now()
    const { due, next } = dueEndpoints.at(now.getTime())
    const pausedMs = attempts.pausedFor()
    const rooms = pausedMs > 0 ? new Map<number, number>() : slots.allot([...due.values()])
    if (rooms.size > 0) await claim(rooms, now)
    else await claims.sleep(pausedMs > 0 ? pausedMs : next - now.getTime())
  }

  const running = [poll, claimOrSleep].map((work) =>
    untilSuccess(
      async () => {
        while (!stopping.signal.aborted) await work()
      },
      {
        ...{ signal: stopping.signal, pauseMs: PAUSE_MS },
        onFailure: (error) => logger.warn({ err: error }, 'deliveries wait for the database'),
      },
    ).catch(() => undefined),
  )

  return {
    claimable: (accountIds: Set<number>): Claimable => {
      const { due } = dueEndpoints.at(clock.now().getTime())
      return {
        claim: newClaim(claimMs),
        claimable: stopping.signal.aborted || attempts.pausedFor() > 0 ? 0 : slots.claimable(),
        perEndpoint,
        waiting: [...claiming.keys(), ...[...accountIds].flatMap((id) => due.get(id) ?? [])],
      }
    },
    /** Starts attempts at deliveries that were claimed as they were stored; `due` are the endpoints of the others. */
    onStored: (claimed: ClaimedDelivery[], due: DueEndpoint[]): void => {
      addDue(due)
      startStored(claimed).catch((error) =>
        logger.warn({ err: error }, 'deliveries wait until their claims end'),
      )
    },
    wake: polls.wake,
    /** Claims nothing more, lets attempts in flight end (7 s at most), and releases the others. */
    stop: async (): Promise<void> => {
      stopping.abort()
      clearTimeout(soon)
      polls.wake()
      claims.wake()
      await Promise.all(running)
      await Promise.race([attempts.done(), pause(DRAIN_MS, undefined, { ref: false })])
      outOfTime.abort()
      await attempts
        .releaseAll()
        .catch((error) => logger.warn({ err: error }, 'attempts wait until their claims end'))
    },
  }
}

export type Sender = ReturnType<typeof sendDeliveries>
