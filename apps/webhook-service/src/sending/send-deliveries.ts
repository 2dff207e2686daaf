import { randomInt } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Database, type Logger, untilSuccess } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { Clock } from '../clock'
import type { WebhookMetrics } from '../webhook-metrics'
import { createAttemptRecorder } from './attempt-recorder'
import { type ClaimedDelivery, claimDeliveries } from './claim-deliveries'
import { createDueEndpoints } from './due-endpoints'
import { findDueEndpoints } from './find-due-endpoints'
import { createSlots } from './slots'
import { takeBackClaims } from './take-back-claims'
import { createWakeUp } from './wake-up'
import { openWorkerSession, type WorkerSession } from './worker-session'

/** How often the database is asked for what other processes stored or let go of. */
const LOOK_EVERY_MS = 250
/** How far a look sees ahead; what becomes due meanwhile goes at its very time. */
const AHEAD_MS = 1000
/** When the database comes back, all workers come back; until they had time to, none is taken for gone. */
const GRACE_MS = 2000
/** After a fault of ours, such as no free sockets, nothing starts for a moment. */
const FAULT_PAUSE_MS = 1000
const DRAIN_MS = 7000

export interface Sender {
  /** Says that these endpoints have a delivery due; without any, that the database should be asked at once. */
  wake(endpointIds?: number[]): void
  /** Claims nothing more, lets what is under way end (7 s at most), and gives back the rest unspent. */
  stop(): Promise<void>
}

/** Sends what is due, from now on until it is stopped, as one worker among any number of them. */
export const sendDeliveries = (options: {
  database: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  schedule: number[]
  concurrency: number
  endpointConcurrency: number
  clock: Clock
  metrics: WebhookMetrics
  logger: Logger
}): Sender => {
  const { database, attempt, clock, metrics, logger } = options
  const workerId = randomInt(1, 2 ** 31)
  const stopping = new AbortController()
  const outOfTime = new AbortController()
  // Every attempt that waits for the database listens to it.
  setMaxListeners(0, outOfTime.signal)
  const alarm = createWakeUp()
  const dueEndpoints = createDueEndpoints()
  const slots = createSlots({
    concurrency: options.concurrency,
    perEndpoint: options.endpointConcurrency,
    now: () => performance.now(),
  })
  const record = createAttemptRecorder({
    database,
    workerId,
    schedule: options.schedule,
    signal: outOfTime.signal,
    metrics,
    logger,
  })
  // By delivery: claimed, and not yet written down or given back.
  const underWay = new Map<number, Promise<void>>()
  let lookAgainAt = 0
  let pausedUntil = 0

  const run = async (delivery: ClaimedDelivery) => {
    const slot = slots.start(delivery.endpointId)
    metrics.inFlight.inc()
    const outcome = await attempt(delivery)
    slots.finish(slot)
    metrics.inFlight.dec()
    alarm.wake()
    if (outOfTime.signal.aborted) return
    if (outcome.error === 'ours') {
      // What nobody here knows of any more is taken back at the next look.
      pausedUntil = performance.now() + FAULT_PAUSE_MS
      logger.error(
        { err: outcome.cause, delivery_id: delivery.id },
        'an attempt could not be made, for a fault of ours',
      )
    } else {
      await record(delivery, outcome)
    }
  }

  const begin = (delivery: ClaimedDelivery) => {
    const work = run(delivery)
      .catch((error) => {
        if (!outOfTime.signal.aborted)
          logger.error({ err: error, delivery_id: delivery.id }, 'an attempt got lost')
      })
      .finally(() => {
        // Not when the claim was lost meanwhile and made anew: that one is still under way.
        if (underWay.get(delivery.id) === work) underWay.delete(delivery.id)
      })
    underWay.set(delivery.id, work)
  }

  const look = async (session: WorkerSession, alsoOfOthers: boolean) => {
    // Set first: a wake-up that comes during the look asks for another.
    lookAgainAt = performance.now() + LOOK_EVERY_MS
    const taken = await takeBackClaims(session, { workerId, known: [...underWay.keys()], alsoOfOthers })
    if (taken > 0) logger.warn({ deliveries: taken }, 'took back the claims of a worker that is gone')
    const ahead = new Date(clock.now().getTime() + AHEAD_MS)
    for (const { endpointId, dueAt } of await findDueEndpoints(session, ahead))
      dueEndpoints.add(endpointId, dueAt)
  }

  // Answers with whether there may be more to claim at once.
  const claim = async (session: WorkerSession, due: number[]): Promise<boolean> => {
    const rooms = slots.allot(due)
    if (rooms.size === 0) return false
    const now = clock.now()
    // Before the claim: what is stored while it runs must not be forgotten after it.
    for (const endpointId of rooms.keys()) dueEndpoints.remove(endpointId)
    const deliveries = await claimDeliveries(session, { workerId, rooms, now })
    const left = new Map(rooms)
    const maybeMore = new Set<number>()
    for (const delivery of deliveries) {
      begin(delivery)
      const { endpointId, byHand } = delivery
      if (!byHand) left.set(endpointId, left.get(endpointId)! - 1)
      if (byHand || left.get(endpointId) === 0) maybeMore.add(endpointId)
    }
    for (const endpointId of maybeMore) dueEndpoints.add(endpointId, now.getTime())
    return maybeMore.size > 0
  }

  const sleep = async () => {
    const now = clock.now().getTime()
    const { due, next = Infinity } = dueEndpoints.at(now)
    const pauseMs = pausedUntil - performance.now()
    const slotMs = (due.length > 0 && slots.nextFreeIn()) || Infinity
    await alarm.sleep(Math.min(lookAgainAt - performance.now(), next - now, pauseMs > 0 ? pauseMs : slotMs))
  }

  const work = async (session: WorkerSession, graceUntil: number) => {
    while (!stopping.signal.aborted) {
      if (performance.now() >= lookAgainAt) await look(session, performance.now() >= graceUntil)
      const paused = performance.now() < pausedUntil
      const more = !paused && (await claim(session, dueEndpoints.at(clock.now().getTime()).due))
      if (!more) await sleep()
    }
  }

  let sessions = 0
  const workInSession = async () => {
    const session = await openWorkerSession(database, workerId)
    sessions += 1
    try {
      await work(session, sessions === 1 ? 0 : performance.now() + GRACE_MS)
      await Promise.race([Promise.all(underWay.values()), pause(DRAIN_MS, undefined, { ref: false })])
      outOfTime.abort()
      await takeBackClaims(session, { workerId, known: [], alsoOfOthers: false })
    } finally {
      await session.close()
    }
  }

  const running = untilSuccess(workInSession, {
    signal: stopping.signal,
    pauseMs: LOOK_EVERY_MS,
    onFailure: (error) => logger.warn({ err: error }, 'deliveries wait for the database'),
  }).catch(() => outOfTime.abort())

  return {
    wake: (endpointIds) => {
      if (endpointIds)
        for (const endpointId of endpointIds) dueEndpoints.add(endpointId, clock.now().getTime())
      else lookAgainAt = 0
      alarm.wake()
    },
    stop: async () => {
      stopping.abort()
      alarm.wake()
      await running
    },
  }
}
