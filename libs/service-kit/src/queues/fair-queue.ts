import { TooBusy } from '../errors/service-error'
import type { BatcherMeter } from './queue-meters'

interface Queue {
  /** The cost of its admitted work. */
  admitted: number
  waiting: Set<{ cost: number; enter: () => void }>
}

/**
 * Bounds the work in flight, for each account and in all, and admits accounts in turn. Resolves with the function to call when the
 * work is done. Work that waited for `maxWaitMs` is refused as TooBusy: a client that retries at once is answered no faster. Work
 * that alone costs more than there is runs alone.
 */
export const createFairQueue = (options: {
  /** What one account's work may cost while so many accounts work or wait. */
  shareOf: (accounts: number) => number
  /** What all admitted work may cost. */
  capacity?: number
  /** How many may wait in all. Accounts have equal shares, and one share is kept for the next account. Absent: none waits. */
  maxWaiting?: number
  maxWaitMs?: number
  meter?: BatcherMeter | undefined
}): ((accountId: number, cost?: number) => Promise<() => void>) => {
  const { shareOf, capacity = Number.POSITIVE_INFINITY, maxWaiting = 0, maxWaitMs = 0, meter } = options
  // The next to be admitted first.
  const queues = new Map<number, Queue>()
  let admitted = 0
  let allWaiting = 0
  meter?.watch(() => allWaiting)

  const release = (accountId: number, queue: Queue) => {
    if (queue.admitted === 0 && queue.waiting.size === 0) queues.delete(accountId)
  }

  const fits = (queue: Queue, cost: number) =>
    (admitted === 0 || admitted + cost <= capacity) &&
    (queue.admitted === 0 || queue.admitted + cost <= shareOf(queues.size))

  const admit = (accountId: number, queue: Queue, cost: number) => {
    admitted += cost
    queue.admitted += cost
    return () => {
      admitted -= cost
      queue.admitted -= cost
      release(accountId, queue)
      if (allWaiting > 0) admitNext()
    }
  }

  const refuse = (accountId: number, queue: Queue) => {
    release(accountId, queue)
    meter?.refused()
    return new TooBusy()
  }

  const wait = (accountId: number, queue: Queue, cost: number) =>
    new Promise<() => void>((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timer)
        queue.waiting.delete(waiting)
        allWaiting -= 1
      }
      const timer = setTimeout(() => {
        stopWaiting()
        reject(refuse(accountId, queue))
      }, maxWaitMs)
      const enter = () => {
        stopWaiting()
        resolve(admit(accountId, queue, cost))
      }
      const waiting = { cost, enter }
      queue.waiting.add(waiting)
      allWaiting += 1
    })

  const admitNext = () => {
    // A queue that is set again is visited again in this loop, behind the others.
    for (const [accountId, queue] of queues) {
      const [next] = queue.waiting
      if (!next || !fits(queue, next.cost)) continue
      next.enter()
      queues.delete(accountId)
      queues.set(accountId, queue)
    }
  }

  return async (accountId, cost = 1) => {
    const queue = queues.get(accountId) ?? { admitted: 0, waiting: new Set() }
    queues.set(accountId, queue)
    if (queue.waiting.size === 0 && fits(queue, cost)) return admit(accountId, queue, cost)
    if (queue.waiting.size < maxWaiting / (queues.size + 1)) return wait(accountId, queue, cost)
    throw refuse(accountId, queue)
  }
}
