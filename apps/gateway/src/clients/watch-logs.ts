import { setTimeout as pause } from 'node:timers/promises'
import type { WebhooksServiceClient } from '@leadwire/contracts'
import { createAlarm, createFairQueue } from '@leadwire/service-kit'

/**
 * The pause between two streams. A new stream first wakes all requests, so that they find the events that
 * were stored during the pause.
 */
const PAUSE_MS = 50
/**
 * Longer than the 10 s after which webhook-service ends a stream, so that this limit ends only a stream that
 * hangs.
 */
const STREAM_LIMIT_MS = 15_000
/**
 * Reads at most 3 pages of an account at once, because webhook-service runs only 3 calls of an account at
 * once.
 */
const READS = { computeShare: () => 3, capacity: 32, maxWaiting: Number.POSITIVE_INFINITY, maxWaitMs: 10_000 }

/**
 * Wakes the requests that wait for events. All waiting requests share one stream from webhook-service, and
 * each request holds only an alarm. A separate call for each request would cost both services an HTTP/2
 * stream.
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
        // Ignores the error, because the next stream may go to another copy of webhook-service.
      }
      await pause(PAUSE_MS)
    }
    isWatching = false
  }

  const enter = createFairQueue(READS)
  const reading = new Map<string, Promise<unknown>>()
  return {
    /**
     * Adds an alarm. The alarm ends a `sleep` when the account may have new events, and when a drain starts.
     * Read the log after `join` and before the first `sleep`, so that no event is missed.
     */
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
    /**
     * Runs `read` once for all requests that read the same page (`what`) at the same time, for example for
     * all requests that wait at the end of a log. A read that started before the last wake-up may lack the
     * new events, so requests after the wake-up do not share this read.
     */
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
