import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type BatcherMeters,
  createAlarm,
  type Database,
  type Logger,
  untilSuccess,
} from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import { type ClaimedDelivery, newClaim } from '../claim'
import type { Clock } from '../clock'
import type { DeliveryMetrics } from '../delivery-metrics'
import { createAttemptRecorder } from './attempt-recorder'
import { createAttemptsUnderWay } from './attempts-under-way'
import { claimDeliveries } from './claim-deliveries'
import { createDueEndpoints, type DueEndpoint } from './due-endpoints'
import { createEventLanes } from './event-lanes'
import { findDueEndpoints, firstPending } from './find-due-endpoints'
import { createSlots } from './slots'

/** How often the database is asked for what other processes stored or let go of. */
const LOOK_EVERY_MS = 250
/** The same where several looks in a row found nothing. */
const IDLE_LOOK_MS = 1000
/** How far a look sees ahead; what becomes due meanwhile goes at its very time. */
const AHEAD_MS = 2000
/** How many times as long as a whole look takes the next one is away. */
const WHOLE_LOOKS_APART = 20
/** A delivery is stored so long after it became due, at most: no statement takes longer. */
const STORED_WITHIN_MS = 10_000
/** When the database comes back, results that waited for it are written before anything is claimed anew. */
const PAUSE_MS = 1000
const DRAIN_MS = 7000

const dueOf = ({ endpointId, accountId, dueAt }: ClaimedDelivery): DueEndpoint => ({
  ...{ endpointId, accountId, dueAt: Date.parse(dueAt) },
})

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
  meters?: BatcherMeters
  logger: Logger
}) => {
  const { queue, claimMs, endpointConcurrency: perEndpoint, clock, metrics, meters, logger } = options
  const stopping = new AbortController()
  const outOfTime = new AbortController()
  // Every attempt that waits for the database listens to it.
  setMaxListeners(0, outOfTime.signal)
  const looks = createAlarm()
  const claims = createAlarm()
  const slots = createSlots({
    ...{ concurrency: options.concurrency, perEndpoint, waitingAfterMs: options.waitingAfterMs },
    onFree: claims.wake,
  })
  metrics.observeSlots({ inUse: slots.inUse, all: options.concurrency })
  const signal = outOfTime.signal
  const record = createAttemptRecorder({ ...options, signal, meter: meters?.('record') })
  const attempts = createAttemptsUnderWay({ ...options, record, slots, onFree: claims.wake, signal })
  const dueEndpoints = createDueEndpoints()
  // The endpoints that a claim runs for, and how many deliveries of each it may bring.
  let claiming = new Map<number, number>()

  const addDue = (endpoints: DueEndpoint[]) => {
    for (const endpoint of endpoints) dueEndpoints.add(endpoint)
    if (endpoints.length > 0) claims.wake()
  }

  const claim = async (rooms: Map<number, number>, now: Date) => {
    // Before the claim: what is stored while it runs must not be forgotten after it.
    const from = dueEndpoints.take(rooms)
    claiming = rooms
    try {
      const claimed = await claimDeliveries(queue, {
        ...{ rooms, from, now, except: attempts.unrecorded(), claim: newClaim(claimMs) },
      })
      const unmade = await attempts.begin(claimed)
      for (const { endpointId, byHand } of claimed)
        if (!byHand) rooms.set(endpointId, rooms.get(endpointId)! - 1)
      // What has no room in memory waits for the next look.
      for (const delivery of claimed) {
        const maybeMore = delivery.byHand || rooms.get(delivery.endpointId) === 0
        if (maybeMore && !unmade.includes(delivery)) dueEndpoints.add(dueOf(delivery))
      }
    } finally {
      claiming = new Map()
    }
  }

  const beginFresh = async (claimed: ClaimedDelivery[]) => {
    const kept = [...claiming.values()].reduce((sum, room) => sum + room, 0)
    const isFree = ({ endpointId }: ClaimedDelivery) =>
      !claiming.has(endpointId) && slots.hasRoomFor(endpointId, kept)
    addDue((await attempts.begin(claimed, isFree)).map(dueOf))
  }

  /** Stores an event with its fan-out; none waits for another account's. */
  const take = createEventLanes({
    ...options,
    mayClaim: (accountIds) => {
      const { due } = dueEndpoints.at(clock.now().getTime())
      return {
        claim: newClaim(claimMs),
        claimable: stopping.signal.aborted || attempts.pausedFor() > 0 ? 0 : slots.claimable(),
        perEndpoint,
        waiting: [...claiming.keys(), ...[...accountIds].flatMap((id) => due.get(id) ?? [])],
      }
    },
    onStored: (claimed, due) => {
      addDue(due)
      beginFresh(claimed).catch((error) =>
        logger.warn({ err: error }, 'deliveries wait until their claims end'),
      )
    },
  })

  // While somebody's old snapshot is open, PostgreSQL keeps each delivery that was pending since, and a whole look reads past
  // all of them. So it takes a part of the time, and the looks in between begin where something may be due.
  let wholeLookAt = 0
  let from: Date | undefined
  let sleepMs = LOOK_EVERY_MS

  const look = async () => {
    const startedAt = performance.now()
    const now = clock.now().getTime()
    if (startedAt >= wholeLookAt) from = undefined
    const found = await findDueEndpoints(queue, new Date(now + AHEAD_MS), from)
    addDue(found)
    if (found.length > 0) sleepMs = LOOK_EVERY_MS
    const apartMs = (performance.now() - startedAt) * WHOLE_LOOKS_APART
    if (!from && apartMs > LOOK_EVERY_MS) {
      const first = await firstPending(queue)
      from = new Date(Math.min(now - STORED_WITHIN_MS, first?.getTime() ?? now))
      wholeLookAt = performance.now() + apartMs
    }
    const woken = await looks.sleep(sleepMs)
    sleepMs = woken ? LOOK_EVERY_MS : Math.min(sleepMs * 2, IDLE_LOOK_MS)
  }

  /** Claims what is due and may begin; where nothing may, sleeps until something might. */
  const claimOrSleep = async () => {
    const now = clock.now()
    const { due, next } = dueEndpoints.at(now.getTime())
    const pausedMs = attempts.pausedFor()
    const rooms = pausedMs > 0 ? new Map<number, number>() : slots.allot([...due.values()])
    if (rooms.size > 0) await claim(rooms, now)
    else await claims.sleep(pausedMs > 0 ? pausedMs : next - now.getTime())
  }

  const running = [look, claimOrSleep].map((work) =>
    untilSuccess(
      async () => {
        while (!stopping.signal.aborted) await work()
      },
      {
        signal: stopping.signal,
        pauseMs: PAUSE_MS,
        onFailure: (error) => logger.warn({ err: error }, 'deliveries wait for the database'),
      },
    ).catch(() => undefined),
  )

  return {
    take,
    /** Says that something may be due: the database is asked at once. */
    wake: looks.wake,
    /** Claims nothing more, lets what is under way end (7 s at most), and gives back the rest unspent. */
    stop: async (): Promise<void> => {
      stopping.abort()
      looks.wake()
      claims.wake()
      await Promise.all(running)
      await Promise.race([attempts.settled(), pause(DRAIN_MS, undefined, { ref: false })])
      outOfTime.abort()
      await attempts
        .releaseAll()
        .catch((error) => logger.warn({ err: error }, 'others make these attempts when their claims end'))
    },
  }
}

export type Sender = ReturnType<typeof sendDeliveries>
