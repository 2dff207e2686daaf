import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, type GatherMeters, type Logger, untilSuccess } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import { newClaim } from '../claim'
import type { Clock } from '../clock'
import type { DeliveryMetrics } from '../delivery-metrics'
import { createAttemptRecorder } from './attempt-recorder'
import { type AttemptsUnderWay, createAttemptsUnderWay } from './attempts-under-way'
import { type BodiesInHand, createBodiesInHand } from './bodies-in-hand'
import { type ClaimedDelivery, claimDeliveries } from './claim-deliveries'
import { createDueEndpoints, type DueEndpoints } from './due-endpoints'
import { createEventLanes } from './event-lanes'
import { findDueEndpoints } from './find-due-endpoints'
import { createIntake } from './intake'
import { createKnownEndpoints } from './known-endpoints'
import { createSlots, type Slots } from './slots'
import { createWakeUp } from './wake-up'

/** How often the database is asked for what other processes stored or let go of. */
const LOOK_EVERY_MS = 250
/** How far a look sees ahead; what becomes due meanwhile goes at its very time. */
const AHEAD_MS = 1000
/** When the database comes back, results that waited for it are written before anything is claimed anew. */
const PAUSE_MS = 1000
const DRAIN_MS = 7000

/**
 * Makes a function that claims what is due, as far as there are slots, and begins it. It answers with whether there may be
 * more to claim at once.
 */
const createClaim = (options: {
  queue: Database
  claimMs: number
  slots: Slots
  bodies: BodiesInHand
  attempts: AttemptsUnderWay
  dueEndpoints: DueEndpoints
  clock: Clock
}): (() => Promise<boolean>) => {
  const { queue, claimMs, slots, bodies, attempts, dueEndpoints, clock } = options
  return async () => {
    const now = clock.now()
    const rooms = slots.allot(dueEndpoints.at(now.getTime()).due)
    if (rooms.size === 0) return false
    // Before the claim: what is stored while it runs must not be forgotten after it.
    for (const endpointId of rooms.keys()) dueEndpoints.remove(endpointId)
    const held = new Map([...rooms].map(([endpointId, room]) => [endpointId, slots.hold(endpointId, room)]))
    let maybeMore = false
    try {
      await bodies.withLarge(async (inHand) => {
        // Attempts of ours whose claims may be over: they are not made twice because writing them down takes long.
        const except = attempts.olderThan(claimMs / 2)
        const claimed = await claimDeliveries(queue, {
          ...{ rooms, now, inHand, except, claim: newClaim(claimMs) },
        })
        for (const delivery of claimed) {
          const { endpointId, byHand } = delivery
          const slot = byHand ? undefined : held.get(endpointId)!.pop()
          attempts.begin(delivery, slot ?? slots.start(endpointId))
          if (!byHand && held.get(endpointId)!.length > 0) continue
          dueEndpoints.add(endpointId, now.getTime())
          maybeMore = true
        }
      })
    } finally {
      for (const unused of held.values()) for (const slot of unused) slots.drop(slot)
    }
    return maybeMore
  }
}

/** Sends what is due, from now on until it is stopped, as one process among any number of them. */
export const sendDeliveries = (options: {
  database: Database
  /** As `connectQueue` connects it. */
  queue: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  /** For how many milliseconds a claim is valid: every attempt has ended by then, and its result is written. */
  claimMs: number
  schedule: number[]
  concurrency: number
  endpointConcurrency: number
  /** As `createSlots` takes it. */
  waitingAfterMs?: number
  clock: Clock
  metrics: DeliveryMetrics
  meters?: GatherMeters
  logger: Logger
}) => {
  const { database, queue, claimMs, attempt, schedule, clock, metrics, meters, logger } = options
  const stopping = new AbortController()
  const outOfTime = new AbortController()
  // Every attempt that waits for the database listens to it.
  setMaxListeners(0, outOfTime.signal)
  const alarm = createWakeUp()
  const dueEndpoints = createDueEndpoints()
  const slots = createSlots({
    concurrency: options.concurrency,
    perEndpoint: options.endpointConcurrency,
    waitingAfterMs: options.waitingAfterMs,
    now: () => performance.now(),
  })
  metrics.observeSlots({ inUse: slots.inUse, all: options.concurrency })
  const record = createAttemptRecorder({
    ...{ database, schedule, metrics, logger },
    signal: outOfTime.signal,
    meter: meters?.('record'),
  })
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
  const claim = createClaim({ queue, claimMs, slots, bodies, attempts, dueEndpoints, clock })
  let lookAgainAt = 0

  const look = async () => {
    // Set first: a wake-up that comes during the look asks for another.
    lookAgainAt = performance.now() + LOOK_EVERY_MS
    const ahead = new Date(clock.now().getTime() + AHEAD_MS)
    for (const { endpointId, dueAt } of await findDueEndpoints(queue, ahead))
      dueEndpoints.add(endpointId, dueAt)
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
      const more = !paused && (await claim())
      if (!more) await sleep()
    }
  }

  const running = untilSuccess(work, {
    signal: stopping.signal,
    pauseMs: PAUSE_MS,
    onFailure: (error) => logger.warn({ err: error }, 'deliveries wait for the database'),
  }).catch(() => undefined)

  return {
    /** Stores events with their fan-out, and begins what it may. */
    store,
    /** The same for one event, in a batch with others; none waits for another account's. */
    take: createEventLanes({ store, endpoints, meters, logger }),
    /** Says that these endpoints have a delivery due; without any, that the database should be asked at once. */
    wake: (endpointIds?: number[]): void => {
      if (endpointIds) wake(endpointIds)
      else {
        lookAgainAt = 0
        alarm.wake()
      }
    },
    /** Claims nothing more, lets what is under way end (7 s at most), and gives back the rest unspent. */
    stop: async (): Promise<void> => {
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

export type Sender = ReturnType<typeof sendDeliveries>
