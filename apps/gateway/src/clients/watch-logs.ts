import { setTimeout as pause } from 'node:timers/promises'
import type { WebhooksServiceClient } from '@leadwire/contracts'
import { createAlarm, createFairQueue } from '@leadwire/service-kit'

/** Between two streams. What was stored meanwhile is found when the next one begins. */
const PAUSE_MS = 50
/** webhook-service ends a stream after 10 s. */
const STREAM_LIMIT_MS = 15_000
/** As many of an account as webhook-service works on. */
const READS = { shareOf: () => 3, capacity: 32, maxWaiting: Number.POSITIVE_INFINITY, maxWaitMs: 10_000 }

/**
 * Wakes the requests that wait for events: one stream from webhook-service serves them all. Each wait holds an alarm and nothing else,
 * because a call for each of them would cost both services a stream of HTTP/2.
 */
export const watchLogs = (webhooks: Pick<WebhooksServiceClient, 'watchLogs'>, draining: AbortSignal) => {
  const waiting = new Map<number, Set<() => void>>()
  let wakes = 0
  const wakeAll = (accountIds: Iterable<number>) => {
    wakes += 1
    for (const accountId of accountIds) for (const wake of waiting.get(accountId) ?? []) wake()
  }
  draining.addEventListener('abort', () => wakeAll(waiting.keys()))

  let isWatching = false
  const watch = async () => {
    if (isWatching) return
    isWatching = true
    while (waiting.size > 0 && !draining.aborted) {
      const limits = { signal: draining, deadline: new Date(Date.now() + STREAM_LIMIT_MS) }
      try {
        for await (const { accountIds } of webhooks.watchLogs({}, limits))
          wakeAll(accountIds.length > 0 ? accountIds : waiting.keys())
      } catch {
        // The next stream goes to another copy.
      }
      await pause(PAUSE_MS)
    }
    isWatching = false
  }

  const enter = createFairQueue(READS)
  const reading = new Map<string, Promise<unknown>>()
  return {
    /** The alarm rings when the account may have new events, and in a drain. Read after joining, before the first sleep. */
    join: (accountId: number) => {
      const { wake, sleep } = createAlarm()
      const alarms = waiting.get(accountId) ?? new Set()
      waiting.set(accountId, alarms.add(wake))
      void watch()
      const leave = () => {
        alarms.delete(wake)
        if (alarms.size === 0) waiting.delete(accountId)
      }
      return { wake, sleep, leave }
    },
    /** Those who read the same, such as all that wait at the end of a log, share it, unless it was read before they were woken. */
    share: <Page>(accountId: number, what: string, read: () => Promise<Page>): Promise<Page> => {
      const key = `${wakes} ${what}`
      const readOnce = async () => {
        const leave = await enter(accountId)
        return read().finally(leave)
      }
      const page = reading.get(key) ?? readOnce().finally(() => reading.delete(key))
      reading.set(key, page)
      return page as Promise<Page>
    },
  }
}
