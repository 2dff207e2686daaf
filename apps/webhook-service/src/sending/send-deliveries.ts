import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, type Logger, untilSuccess } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import { newClaim } from '../claim'
import type { Clock } from '../clock'
import type { StoredEvent } from '../events/read-lead-created'
import type { Stored, StoreResult } from '../events/store-result'
import type { WebhookMetrics } from '../webhook-metrics'
import { createAttemptRecorder } from './attempt-recorder'
import { createAttemptsUnderWay } from './attempts-under-way'
import { createBodiesInHand } from './bodies-in-hand'
import { type ClaimedDelivery, claimDeliveries } from './claim-deliveries'
import { createDueEndpoints } from './due-endpoints'
import { createEventLanes } from './event-lanes'
import { findDueEndpoints } from './find-due-endpoints'
import { createIntake } from './intake'
import { createKnownEndpoints } from './known-endpoints'
import { createSlots } from './slots'
import { createWakeUp } from './wake-up'

/** How often the database is asked for what other processes stored or let go of. */
const LOOK_EVERY_MS = 250
/** How far a look sees ahead; what becomes due meanwhile goes at its very time. */
const AHEAD_MS = 1000
/** When the database comes back, results that waited for it are written before anything is claimed anew. */
const PAUSE_MS = 1000
/** Beyond the longest attempt: for its result to be written. */
const CLAIM_MARGIN_MS = 4000
const DRAIN_MS = 7000

export interface Sender {
  /** Stores events with their fan-out, and begins what it may. */
  store(events: StoredEvent[]): Promise<Stored>
  /** The same for one event, in a batch with others; none waits for another account's. */
  take(event: StoredEvent): Promise<StoreResult>
  /** Says that these endpoints have a delivery due; without any, that the database should be asked at once. */
  wake(endpointIds?: number[]): void
  /** Claims nothing more, lets what is under way end (7 s at most), and gives back the rest unspent. */
  stop(): Promise<void>
}

/** Sends what is due, from now on until it is stopped, as one process among any number of them. */
export const sendDeliveries = (options: {
  database: Database
  /** As `connectQueue` connects it. */
  queue: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  /** Milliseconds within which every attempt has ended. */
  timeoutMs: number
  /** Milliseconds beyond it for which a claim is valid, so that the result is written; 4,000 unless said. */
  marginMs?: number
  schedule: number[]
  concurrency: number
  endpointConcurrency: number
  clock: Clock
  metrics: WebhookMetrics
  logger: Logger
}): Sender => {
  const { database, queue, attempt, schedule, concurrency, endpointConcurrency, clock, metrics, logger } =
    options
  const claimMs = options.timeoutMs + (options.marginMs ?? CLAIM_MARGIN_MS)
  const stopping = new AbortController()
  const outOfTime = new AbortController()
  // Every attempt that waits for the database listens to it.
  setMaxListeners(0, outOfTime.signal)
  const alarm = createWakeUp()
  const dueEndpoints = createDueEndpoints()
  const slots = createSlots({ concurrency, perEndpoint: endpointConcurrency, now: () => performance.now() })
  const record = createAttemptRecorder({ database, schedule, signal: outOfTime.signal, metrics, logger })
  const wake = (endpointIds: number[]) => {
    if (endpointIds.length === 0) return
    for (const endpointId of endpointIds) dueEndpoints.add(endpointId, clock.now().getTime())
    alarm.wake()
  }
  const bodies = createBodiesInHand()
  metrics.observeBodies(bodies.bytes)
  const attempts = createAttemptsUnderWay({
    ...{ database, attempt, record, slots, bodies, metrics, logger },
    onFree: alarm.wake,
    signal: outOfTime.signal,
  })
  const endpoints = createKnownEndpoints(database)
  const store = createIntake({
    ...{ database, queue, claimMs, slots, attempts, endpoints, clock },
    mayBegin: (endpointId) => !dueEndpoints.isDue(endpointId, clock.now().getTime()),
    onWaiting: wake,
    signal: stopping.signal,
  })
  const take = createEventLanes({ store, endpoints, logger })
  let lookAgainAt = 0

  const look = async () => {
    // Set first: a wake-up that comes during the look asks for another.
    lookAgainAt = performance.now() + LOOK_EVERY_MS
    const ahead = new Date(clock.now().getTime() + AHEAD_MS)
    for (const { endpointId, dueAt } of await findDueEndpoints(queue, ahead))
      dueEndpoints.add(endpointId, dueAt)
  }

  // Answers with whether there may be more to claim at once.
  const claim = async (due: number[]): Promise<boolean> => {
    const rooms = slots.allot(due)
    if (rooms.size === 0) return false
    const now = clock.now()
    // Before the claim: what is stored while it runs must not be forgotten after it.
    for (const endpointId of rooms.keys()) dueEndpoints.remove(endpointId)
    const held = new Map([...rooms].map(([endpointId, room]) => [endpointId, slots.hold(endpointId, room)]))
    const maybeMore = new Set<number>()
    try {
      await bodies.withLarge(async (inHand) => {
        const options = { rooms, now, inHand, claim: newClaim(claimMs) }
        for (const delivery of await claimDeliveries(queue, options)) {
          const { endpointId, byHand } = delivery
          const slot = byHand ? undefined : held.get(endpointId)!.pop()
          attempts.begin(delivery, slot ?? slots.start(endpointId))
          if (byHand || held.get(endpointId)!.length === 0) maybeMore.add(endpointId)
        }
      })
    } finally {
      for (const unused of held.values()) for (const slot of unused) slots.drop(slot)
    }
    for (const endpointId of maybeMore) dueEndpoints.add(endpointId, now.getTime())
    return maybeMore.size > 0
  }

  const sleep = async () => {
    const now = clock.now().getTime()
    const { due, next = Infinity } = dueEndpoints.at(now)
    const pauseMs = attempts.pausedFor()
    const slotMs = (due.length > 0 && slots.nextFreeIn()) || Infinity
    await alarm.sleep(Math.min(lookAgainAt - performance.now(), next - now, pauseMs > 0 ? pauseMs : slotMs))
  }

  const work = async () => {
    while (!stopping.signal.aborted) {
      if (performance.now() >= lookAgainAt) await look()
      const paused = attempts.pausedFor() > 0
      const more = !paused && (await claim(dueEndpoints.at(clock.now().getTime()).due))
      if (!more) await sleep()
    }
  }

  const running = untilSuccess(work, {
    signal: stopping.signal,
    pauseMs: PAUSE_MS,
    onFailure: (error) => logger.warn({ err: error }, 'deliveries wait for the database'),
  }).catch(() => undefined)

  return {
    store,
    take,
    wake: (endpointIds) => {
      if (endpointIds) return wake(endpointIds)
      lookAgainAt = 0
      alarm.wake()
    },
    stop: async () => {
      stopping.abort()
      alarm.wake()
      await running
      await Promise.race([attempts.settled(), pause(DRAIN_MS, undefined, { ref: false })])
      outOfTime.abort()
      await attempts
        .releaseAll()
        .catch((error) => logger.warn({ err: error }, 'others make these attempts when their claims end'))
    },
  }
}
