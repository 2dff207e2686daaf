import { createAlarm, type Database } from '@leadwire/service-kit'
import type { Clock } from '../../clock'
import { type DueEndpoint, findClaimed, findDueEndpoints, findFirstPending } from './due-endpoints'

/** How often the database is polled while deliveries are due. */
const POLL_EVERY_MS = 250
/** The longest pause between polls that find nothing due. Each such poll doubles the pause. */
const IDLE_POLL_MS = 5000
/**
 * The longest pause while a due delivery is claimed. If the process that claimed the delivery dies, a poll
 * finds the delivery soon after the claim expires.
 */
const CLAIMED_POLL_MS = 500
/**
 * How far ahead a poll reads, counted from the start of the next poll. A poll reads ahead so that deliveries
 * that become due between two polls start on time.
 */
const AHEAD_MS = 2000
/** The pause between a slow full poll and the next full poll, as a multiple of the slow poll's duration. */
const FULL_POLL_PAUSE = 20
/**
 * A new delivery is usually stored within this time after it became due. So short polls read at least
 * everything that became due within this time before they began. A delivery that becomes pending later, for
 * example because its endpoint was enabled, is found by the next full poll.
 */
const STORED_WITHIN_MS = 10_000

/**
 * Polls the database for endpoints with due deliveries. Finds retries, and deliveries that other processes
 * have stored or released, or had claimed when they crashed.
 *
 * A *full* poll reads all pending deliveries in the order of their due times. While an old snapshot (such as
 * a dump's) is open, the index still has the entries of deliveries that are no longer pending, and a full
 * poll reads these entries, too. If a full poll is slow, the next polls are *short*: they start at the due
 * time of the first pending delivery, or `STORED_WITHIN_MS` before the full poll if that is earlier. The next
 * full poll follows after 20 times the duration of the last full poll, so full polls take at most a twentieth
 * of the time.
 */
export const createPoller = (options: {
  queue: Database
  clock: Clock
  /** The length of a claim in milliseconds. */
  claimMs: number
  idlePollMs?: number | undefined
  onFound: (endpoints: DueEndpoint[]) => void
}) => {
  const { queue, clock, claimMs, idlePollMs = IDLE_POLL_MS, onFound } = options
  const alarm = createAlarm()
  let pauseMs = POLL_EVERY_MS
  /** The due time at which short polls start. Undefined: the next poll is full. */
  let shortFrom: Date | undefined
  let nextFullPollAt = 0
  let soon: NodeJS.Timeout | undefined

  const findShortStart = async (now: number): Promise<Date> => {
    const [first] = await findFirstPending(queue)
    const firstAt = first ? Date.parse(first.at) : now
    return new Date(Math.min(now - STORED_WITHIN_MS, firstAt))
  }

  const find = async (): Promise<DueEndpoint[]> => {
    const startedAt = performance.now()
    const now = clock.now().getTime()
    if (startedAt >= nextFullPollAt) shortFrom = undefined
    const isFull = shortFrom === undefined
    const until = new Date(now + pauseMs + AHEAD_MS)
    const found = await findDueEndpoints(queue, { from: shortFrom ?? new Date(0), until, claimMs })
    const fullPollPauseMs = (performance.now() - startedAt) * FULL_POLL_PAUSE
    if (isFull && fullPollPauseMs > POLL_EVERY_MS) {
      shortFrom = await findShortStart(now)
      nextFullPollAt = performance.now() + fullPollPauseMs
    }
    return found
  }

  return {
    /** Polls once, and then waits until the next poll is due. */
    poll: async (): Promise<void> => {
      const now = clock.now().getTime()
      const found = await find()
      onFound(found)
      if (found.some(({ dueAt }) => dueAt <= now)) pauseMs = POLL_EVERY_MS
      const isWoken = await alarm.sleep(pauseMs)
      pauseMs = isWoken ? POLL_EVERY_MS : Math.min(pauseMs * 2, idlePollMs)
      if (pauseMs <= CLAIMED_POLL_MS) return
      const range = { from: shortFrom ?? new Date(0), until: clock.now(), claimMs }
      const claimed = await findClaimed(queue, range)
      if (claimed.length > 0) pauseMs = CLAIMED_POLL_MS
    },
    /** Returns whether a regular poll will find a delivery before it is due at `dueAt`. */
    findsInTime: (dueAt: number): boolean => dueAt >= clock.now().getTime() + idlePollMs + AHEAD_MS,
    wake: alarm.wake,
    /** Polls again after `POLL_EVERY_MS`. */
    wakeSoon: (): void => {
      soon ??= setTimeout(() => {
        soon = undefined
        alarm.wake()
      }, POLL_EVERY_MS)
    },
    stop: (): void => {
      clearTimeout(soon)
      alarm.wake()
    },
  }
}
