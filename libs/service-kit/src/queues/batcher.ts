/*
 * Joins calls for single items into batches. While `maxInFlight` batches are in flight, items wait. The
 * waiting items are sent together as soon as one of these batches has its response. While fewer batches are
 * in flight, items wait only until the end of the event loop's turn.
 *
 * States of an item (`batcher.spec.ts` proves each transition):
 *
 * - waiting → sent: the item's batch is sent.
 * - waiting → refused as TooBusy: the item waited for `maxWaitMs`, its deadline passed, its caller has gone,
 *   or too many items wait. No work was done.
 * - sent → answered: `send` resolves with the item's result, or rejects for the whole batch. If it rejects,
 *   the work may have been done.
 * - sent → timed out: the item's deadline passes first. The work may have been done. The other items of the
 *   batch are not affected.
 */
import { type Context, context } from '@opentelemetry/api'
import { ServiceError, TooBusy } from '../errors/service-error'
import { sendTogether } from '../tracing/tracing'
import type { BatcherMeter } from './queue-meters'

/** How long the caller of an item waits. */
interface Limits {
  readonly deadline: Date
  isGone(): boolean
}

/** An item with its caller. */
interface Entry<Item, Result> {
  item: Item
  /** In milliseconds since the epoch. */
  deadline: number
  isGone: () => boolean
  trace: Context
  state: 'waiting' | 'sent' | 'refused'
  timer: NodeJS.Timeout | undefined
  onRefused: () => void
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

type AnyEntry = Entry<unknown, never>

const refuse = (entry: AnyEntry): void => {
  clearTimeout(entry.timer)
  entry.state = 'refused'
  entry.onRefused()
  entry.reject(new TooBusy())
}

/**
 * Starts the timer of an item. An item that still waits is refused after `maxWaitMs` or at its deadline. An
 * item that was sent times out at its deadline.
 */
const startTimer = (entry: AnyEntry, maxWaitMs: number): void => {
  const end = () => {
    const leftMs = entry.deadline - Date.now()
    if (entry.state === 'waiting') refuse(entry)
    else if (leftMs > 0) entry.timer = setTimeout(end, leftMs)
    else entry.reject(ServiceError.timedOut())
  }
  entry.timer = setTimeout(end, Math.min(maxWaitMs, entry.deadline - Date.now()))
}

/** Returns whether an item may still be sent. Refuses the item if its caller no longer waits. */
const isAwaited = (entry: AnyEntry): boolean => {
  if (entry.state === 'refused') return false
  if (entry.deadline > Date.now() && !entry.isGone()) return true
  refuse(entry)
  return false
}

/**
 * Makes the function that adds an item to the next batch and resolves with the item's result. Items without
 * limits have no deadline.
 */
export const createBatcher = <Item, Result>(options: {
  /**
   * Sends a batch. Receives the deadline of each item, in milliseconds since the epoch. Resolves with a
   * result for each item.
   */
  send: (items: Item[], deadlines: number[]) => Promise<Result[]>
  maxBatch: number
  maxInFlight: number
  /** The maximum number of waiting items. */
  maxQueued: number
  maxWaitMs?: number
  computeCost?: (item: Item) => number
  /** The maximum cost of a batch. An item that costs more is sent alone. */
  maxBatchCost?: number
  /**
   * Returns the queue of an item. A batch takes one item from each queue in turn, so that no queue delays
   * another. A queue holds at most half of `maxQueued`. By default there is one queue.
   */
  findQueue?: (item: Item) => unknown
  meter?: BatcherMeter | undefined
}): ((item: Item, limits?: Limits) => Promise<Result>) => {
  const { send, maxBatch, maxInFlight, maxQueued, findQueue, meter } = options
  const { maxWaitMs = Number.POSITIVE_INFINITY, maxBatchCost = Number.POSITIVE_INFINITY } = options
  const { computeCost = () => 0 } = options
  const maxPerQueue = findQueue ? maxQueued / 2 : maxQueued
  // The queue that is served next comes first.
  const queues = new Map<unknown, Entry<Item, Result>[]>()
  let waitingCount = 0
  let inFlightCount = 0
  let isSendScheduled = false
  meter?.watch(() => waitingCount)

  const takeBatch = (): Entry<Item, Result>[] => {
    const batch: Entry<Item, Result>[] = []
    let cost = 0
    // The loop moves a queue that still has items to the end of the map, and so visits it again.
    for (const [key, queue] of queues) {
      if (batch.length === maxBatch) break
      const nextCost = computeCost(queue[0]!.item)
      if (batch.length > 0 && cost + nextCost > maxBatchCost) continue
      cost += nextCost
      batch.push(queue.shift()!)
      queues.delete(key)
      if (queue.length > 0) queues.set(key, queue)
    }
    waitingCount -= batch.length
    return batch.filter(isAwaited)
  }

  /** Resolves with the results of a batch. The next batch is sent before the callers of this one resume. */
  const requestResults = async (batch: Entry<Item, Result>[]): Promise<Result[]> => {
    const items = batch.map(({ item }) => item)
    const deadlines = batch.map(({ deadline }) => deadline)
    try {
      return await sendTogether(batch, () => send(items, deadlines))
    } finally {
      inFlightCount -= 1
      sendWaiting()
    }
  }

  const sendBatch = async (batch: Entry<Item, Result>[]): Promise<void> => {
    inFlightCount += 1
    meter?.sent(batch.length)
    for (const entry of batch) entry.state = 'sent'
    try {
      const results = await requestResults(batch)
      if (results.length !== batch.length)
        throw new ServiceError('internal', `a batch of ${batch.length} items has ${results.length} results`)
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    for (const { timer } of batch) clearTimeout(timer)
  }

  const sendWaiting = (): void => {
    while (inFlightCount < maxInFlight && waitingCount > 0) {
      const batch = takeBatch()
      if (batch.length > 0) void sendBatch(batch)
    }
  }

  /**
   * Sends the waiting items at the end of this turn of the event loop, so that requests that were read from
   * many sockets in one turn are sent together. A microtask would be too early: with 64 clients, three of
   * four batches had a single item.
   */
  const scheduleSend = (): void => {
    if (isSendScheduled) return
    isSendScheduled = true
    setImmediate(() => {
      isSendScheduled = false
      sendWaiting()
    })
  }

  return (item, limits) =>
    new Promise<Result>((resolve, reject) => {
      const key = findQueue?.(item)
      const queue = queues.get(key) ?? []
      if (waitingCount >= maxQueued || queue.length >= maxPerQueue) {
        meter?.refused()
        reject(new TooBusy())
        return
      }
      const entry: Entry<Item, Result> = {
        item,
        deadline: limits?.deadline.getTime() ?? Number.POSITIVE_INFINITY,
        isGone: () => limits?.isGone() === true,
        trace: context.active(),
        state: 'waiting',
        timer: undefined,
        onRefused: () => meter?.refused(),
        resolve,
        reject,
      }
      if (limits) startTimer(entry, maxWaitMs)
      queue.push(entry)
      queues.set(key, queue)
      waitingCount += 1
      scheduleSend()
    })
}
