import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, type GatherMeters, type Logger, untilSuccess } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import { type ClaimedDelivery, newClaim } from '../claim'
import type { Clock } from '../clock'
import type { DeliveryMetrics } from '../delivery-metrics'
import { createAttemptRecorder } from './attempt-recorder'
import { type AttemptsUnderWay, createAttemptsUnderWay } from './attempts-under-way'
import { claimDeliveries } from './claim-deliveries'
import { createDueEndpoints, type DueEndpoint } from './due-endpoints'
import { createEventLanes } from './event-lanes'
import { findDueEndpoints } from './find-due-endpoints'
import { createSlots, type Slots } from './slots'

/** How often the database is asked for what other processes stored or let go of. */
const LOOK_EVERY_MS = 250
/** How far a look sees ahead; what becomes due meanwhile goes at its very time. */
const AHEAD_MS = 1000
/** When the database comes back, results that waited for it are written before anything is claimed anew. */
const PAUSE_MS = 1000
const DRAIN_MS = 7000

/** Sleeps until it is woken or a time has passed; a call that comes while nobody sleeps is not lost. */
const createAlarm = () => {
  let woken = false
  let ring = (): void => undefined
  return {
    // Called twice for each attempt: an AbortController makes an exception for each call (seen: a tenth of the processor time).
    wake: (): void => {
      woken = true
      ring()
    },
    sleep: async (ms: number): Promise<void> => {
      if (!woken)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(ms, 60_000))
          ring = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      woken = false
    },
  }
}

/** What brings deliveries to their attempts: claims of what is due, and what was claimed as it was stored. */
const createClaims = (options: {
  queue: Database
  claimMs: number
  perEndpoint: number
  slots: Slots
  attempts: AttemptsUnderWay
  clock: Clock
  /** Aborted when nothing more may begin. */
  signal: AbortSignal
  logger: Logger
}) => {
  const { queue, claimMs, perEndpoint, slots, attempts, clock, signal, logger } = options
  const dueEndpoints = createDueEndpoints()
  // The endpoints that a claim runs for.
  let claiming = new Map<number, number>()

  const claim = async (rooms: Map<number, number>, now: Date) => {
    // Before the claim: what is stored while it runs must not be forgotten after it.
    dueEndpoints.remove(rooms)
    claiming = rooms
    try {
      const claimed = await claimDeliveries(queue, {
        ...{ rooms, now, except: attempts.unrecorded(), claim: newClaim(claimMs) },
      })
      const unmade = await attempts.begin(claimed)
      for (const { endpointId, byHand } of claimed)
        if (!byHand) rooms.set(endpointId, rooms.get(endpointId)! - 1)
      // What has no room in memory waits for the next look.
      for (const delivery of claimed) {
        const { endpointId, accountId, byHand } = delivery
        const maybeMore = byHand || rooms.get(endpointId) === 0
        if (maybeMore && !unmade.includes(delivery))
          dueEndpoints.add({ endpointId, accountId, dueAt: now.getTime() })
      }
    } finally {
      claiming = new Map()
    }
  }

  const { wake, sleep } = createAlarm()
  const addDue = (endpoints: DueEndpoint[]) => {
    for (const endpoint of endpoints) dueEndpoints.add(endpoint)
    if (endpoints.length > 0) wake()
  }

  const beginFresh = async (claimed: ClaimedDelivery[]) => {
    const isFree = ({ endpointId }: ClaimedDelivery) =>
      !claiming.has(endpointId) && slots.hasRoomFor(endpointId)
    const unmade = await attempts.begin(claimed, isFree)
    addDue(
      unmade.map(({ endpointId, accountId, dueAt }) => ({ endpointId, accountId, dueAt: Date.parse(dueAt) })),
    )
  }

  return {
    wake,
    addDue,
    /** Claims what is due and may begin; where nothing may, sleeps until something might. */
    claimOrSleep: async () => {
      const now = clock.now()
      const { due, next } = dueEndpoints.at(now.getTime())
      const pausedMs = attempts.pausedFor()
      const rooms = pausedMs > 0 ? new Map<number, number>() : slots.allot([...due.values()])
      if (rooms.size > 0) await claim(rooms, now)
      else await sleep(pausedMs > 0 ? pausedMs : next - now.getTime())
    },
    /** How `storeEvents` may claim what it stores for these accounts. */
    mayClaim: (accountIds: Set<number>) => {
      const { due } = dueEndpoints.at(clock.now().getTime())
      return {
        claim: newClaim(claimMs),
        claimable: signal.aborted || attempts.pausedFor() > 0 ? 0 : slots.claimable(),
        perEndpoint,
        waiting: [...claiming.keys(), ...[...accountIds].flatMap((id) => due.get(id) ?? [])],
      }
    },
    onStored: (claimed: ClaimedDelivery[], due: DueEndpoint[]): void => {
      addDue(due)
      beginFresh(claimed).catch((error) =>
        logger.warn({ err: error }, 'deliveries wait until their claims end'),
      )
    },
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
  const lookAlarm = createAlarm()
  const slots = createSlots({
    concurrency: options.concurrency,
    perEndpoint: options.endpointConcurrency,
    waitingAfterMs: options.waitingAfterMs,
    onFree: () => claims.wake(),
  })
  metrics.observeSlots({ inUse: slots.inUse, all: options.concurrency })
  const record = createAttemptRecorder({
    ...{ database, schedule, metrics, logger },
    signal: outOfTime.signal,
    meter: meters?.('record'),
  })
  const attempts = createAttemptsUnderWay({
    ...{ database, attempt, record, slots, metrics, logger },
    onFree: () => claims.wake(),
    signal: outOfTime.signal,
  })
  const claims = createClaims({
    ...{ queue, claimMs, slots, attempts, clock, signal: stopping.signal, logger },
    perEndpoint: options.endpointConcurrency,
  })
  const { mayClaim, onStored } = claims
  const take = createEventLanes({ database, queue, clock, mayClaim, onStored, meters })

  const look = async () => {
    claims.addDue(await findDueEndpoints(queue, new Date(clock.now().getTime() + AHEAD_MS)))
    await lookAlarm.sleep(LOOK_EVERY_MS)
  }

  const running = [look, claims.claimOrSleep].map((work) =>
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
    /** Stores an event with its fan-out; none waits for another account's. */
    take,
    /** Says that something may be due: the database is asked at once. */
    wake: lookAlarm.wake,
    /** Claims nothing more, lets what is under way end (7 s at most), and gives back the rest unspent. */
    stop: async (): Promise<void> => {
      stopping.abort()
      lookAlarm.wake()
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
