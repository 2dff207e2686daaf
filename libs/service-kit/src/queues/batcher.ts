import { type Context, context } from '@opentelemetry/api'
import { ServiceError, TooBusy } from '../errors/service-error'
import { sendTogether } from '../tracing/tracing'
import type { BatcherMeter } from './queue-meters'

interface Limits {
  readonly deadline: Date
  isGone(): boolean
}

interface Waiting<Item, Result> {
  item: Item
  /** Milliseconds since the epoch. */
  deadline: number
  isGone: () => boolean
  trace: Context
  /** Whether its batch has left: some of the work may have been done. */
  sent: boolean
  timer?: NodeJS.Timeout
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

const startTimer = <Item, Result>(waiting: Waiting<Item, Result>, maxWaitMs: number): void => {
  const expire = () => {
    const leftMs = waiting.deadline - Date.now()
    if (waiting.sent && leftMs > 0) {
      waiting.timer = setTimeout(expire, leftMs)
      return
    }
    waiting.isGone = () => true
    waiting.reject(waiting.sent ? ServiceError.timedOut() : new TooBusy())
  }
  waiting.timer = setTimeout(expire, Math.min(maxWaitMs, waiting.deadline - Date.now()))
}

/** Rejects the item whose caller waits no longer. */
const isAwaited = <Item, Result>({ deadline, isGone, reject, timer }: Waiting<Item, Result>): boolean => {
  if (deadline > Date.now() && !isGone()) return true
  clearTimeout(timer)
  reject(new TooBusy())
  return false
}

/**
 * Turns calls for one item into calls for many: items that arrive while a batch is in flight join the next one. A lone item leaves
 * at the end of the event loop's turn.
 *
 * An item with limits is rejected at its deadline: as timed out when its batch has left, else as TooBusy, because nothing was
 * done. TooBusy is also the error of an item that waited for `maxWaitMs`, of one whose caller has gone, and of one too many.
 */
export const createBatcher = <Item, Result>(options: {
  send: (items: Item[], deadlines: number[]) => Promise<Result[]>
  maxBatch: number
  maxInFlight: number
  maxQueued: number
  maxWaitMs?: number
  costOf?: (item: Item) => number
  /** Unless one item alone costs more. */
  maxBatchCost?: number
  /** A batch takes one item from each queue at a time, so that no queue delays another. One queue holds half of `maxQueued`. */
  queueOf?: (item: Item) => unknown
  meter?: BatcherMeter | undefined
}): ((item: Item, limits?: Limits) => Promise<Result>) => {
  const { maxBatch, maxInFlight, maxQueued, queueOf, meter } = options
  const { maxWaitMs = Number.POSITIVE_INFINITY, maxBatchCost = Number.POSITIVE_INFINITY } = options
  const { costOf = () => 0 } = options
  const maxPerQueue = queueOf ? maxQueued / 2 : maxQueued
  // The next to be served first.
  const queues = new Map<unknown, Waiting<Item, Result>[]>()
  let queued = 0
  let inFlight = 0
  let flushing = false
  meter?.watch(() => queued)

  const dispatch = async (batch: Waiting<Item, Result>[]) => {
    inFlight += 1
    meter?.sent(batch.length)
    for (const waiting of batch) waiting.sent = true
    const items = batch.map(({ item }) => item)
    const deadlines = batch.map(({ deadline }) => deadline)
    try {
      const results = await sendTogether(batch, () => options.send(items, deadlines)).finally(() => {
        inFlight -= 1
        // The next batch leaves before this one's callers resume, so that both processes work meanwhile.
        flush()
      })
      if (results.length !== batch.length)
        throw new ServiceError('internal', `${batch.length} items were sent, ${results.length} results came`)
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    for (const { timer } of batch) clearTimeout(timer)
  }

  const nextBatch = () => {
    const batch: Waiting<Item, Result>[] = []
    let cost = 0
    // A queue that is set again is visited again in this loop, behind the others.
    for (const [key, queue] of queues) {
      if (batch.length === maxBatch) break
      const nextCost = costOf(queue[0]!.item)
      if (batch.length > 0 && cost + nextCost > maxBatchCost) continue
      cost += nextCost
      batch.push(queue.shift()!)
      queues.delete(key)
      if (queue.length > 0) queues.set(key, queue)
    }
    queued -= batch.length
    return batch.filter(isAwaited)
  }

  const flush = () => {
    flushing = false
    while (inFlight < maxInFlight && queued > 0) {
      const batch = nextBatch()
      if (batch.length > 0) void dispatch(batch)
    }
  }

  return (item, limits) =>
    new Promise<Result>((resolve, reject) => {
      const key = queueOf?.(item)
      const queue = queues.get(key) ?? []
      if (queued >= maxQueued || queue.length >= maxPerQueue) {
        meter?.refused()
        reject(new TooBusy())
        return
      }
      const deadline = limits?.deadline.getTime() ?? Number.POSITIVE_INFINITY
      const isGone = () => limits?.isGone() === true
      const waiting = { item, deadline, isGone, trace: context.active(), sent: false, resolve, reject }
      if (limits) startTimer(waiting, maxWaitMs)
      queue.push(waiting)
      queues.set(key, queue)
      queued += 1
      // At the end of this turn of the event loop: requests that were read from many sockets in it leave together. In a
      // microtask the first of them would leave alone, and the second; seen with 64 clients: of four calls three were lone.
      if (!flushing) setImmediate(flush)
      flushing = true
    })
}
