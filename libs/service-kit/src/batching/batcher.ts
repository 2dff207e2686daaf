import type { Actor, Idempotency } from '@leadwire/contracts'
import { ServiceError, TooBusy } from '../errors/service-error'
import { sendTogether, traceContext } from '../tracing/tracing'
import type { BatcherMeter } from './batcher-metrics'

/** How long a caller waits for its response, and whether it still does. */
export interface CallLimits {
  readonly deadline: Date
  isGone(): boolean
  /** Aborts when the caller has gone. Created on first use: batched calls need none. */
  goneSignal(): AbortSignal
  /** The caller. */
  readonly actor?: Actor | undefined
  /** With it a unary call is done once; `onReplayed` is called when its response is a saved one. */
  readonly idempotency?: Idempotency | undefined
  readonly onReplayed?: () => void
}

interface Waiting<Item, Result> {
  item: Item
  /** Milliseconds since the epoch. */
  deadline: number
  isGone: () => boolean
  trace: ReturnType<typeof traceContext>
  /** Whether its batch has left: some of the work may have been done. */
  sent: boolean
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** Whether the caller still waits. Rejects the item if not. */
const isAwaited = <Item, Result>({ deadline, isGone, reject }: Waiting<Item, Result>): boolean => {
  const isOver = deadline <= Date.now() || isGone()
  if (isOver) reject(new TooBusy())
  return !isOver
}

const FOREVER = { deadline: Number.POSITIVE_INFINITY, isGone: () => false }

const within = <Item, Result>(
  limits: Pick<CallLimits, 'deadline' | 'isGone'>,
  { item, resolve, reject }: Pick<Waiting<Item, Result>, 'item' | 'resolve' | 'reject'>,
  maxWaitMs: number,
): Waiting<Item, Result> => {
  const deadline = limits.deadline.getTime()
  let refused = false
  const expire = () => {
    const leftMs = deadline - Date.now()
    if (waiting.sent && leftMs > 0) {
      timer = setTimeout(expire, leftMs)
      return
    }
    refused = true
    reject(waiting.sent ? ServiceError.timedOut() : new TooBusy())
  }
  let timer = setTimeout(expire, Math.min(maxWaitMs, deadline - Date.now()))
  const waiting: Waiting<Item, Result> = {
    item,
    deadline,
    isGone: () => refused || limits.isGone(),
    trace: traceContext(),
    sent: false,
    resolve: (result) => {
      clearTimeout(timer)
      resolve(result)
    },
    reject: (error) => {
      clearTimeout(timer)
      reject(error)
    },
  }
  return waiting
}

/**
 * Turns calls for one item into calls for many: items that arrive while a batch is in flight join the next one. A lone item
 * leaves at the end of the event loop's turn.
 *
 * `send` gets the items and their deadlines (milliseconds since the epoch), and resolves with one result for each item, in
 * order. When it rejects, every item of that batch is rejected with the same error.
 *
 * An item with limits is rejected at its deadline: as timed out when its batch has left, else as TooBusy, because nothing was
 * done. TooBusy is also the error of an item that waited for `maxWaitMs`, and of one whose caller has gone.
 *
 * A batch has at most `maxBatch` items. With `costOf` their cost is at most `maxBatchCost`, unless one item alone costs more.
 *
 * With `queueOf` a batch takes one item from each queue at a time, so that no queue delays another. Items of a queue keep
 * their order. A queue whose next item does not fit is the first of the next batch.
 *
 * Beyond `maxQueued` waiting items an item is rejected as TooBusy. One of several queues holds at most half of them.
 */
export const createBatcher = <Item, Result>(options: {
  send: (items: Item[], deadlines: number[]) => Promise<Result[]>
  maxBatch: number
  maxInFlight: number
  maxQueued: number
  maxWaitMs?: number
  costOf?: (item: Item) => number
  maxBatchCost?: number
  queueOf?: (item: Item) => unknown
  meter?: BatcherMeter | undefined
}): ((item: Item, limits?: Pick<CallLimits, 'deadline' | 'isGone'>) => Promise<Result>) => {
  const { costOf = () => 0, maxBatchCost = Number.POSITIVE_INFINITY, queueOf, meter } = options
  const { maxWaitMs = Number.POSITIVE_INFINITY } = options
  const maxPerQueue = queueOf ? options.maxQueued / 2 : options.maxQueued
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
      if (results.length !== batch.length) {
        throw new ServiceError('internal', `${batch.length} items were sent, ${results.length} results came`)
      }
      batch.forEach(({ resolve }, index) => {
        resolve(results[index]!)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const nextBatch = () => {
    const batch: Waiting<Item, Result>[] = []
    let cost = 0
    // A queue that is set again is visited again in this loop, behind the others.
    for (const [queue, waiting] of queues) {
      if (batch.length === options.maxBatch) break
      const nextCost = costOf(waiting[0]!.item)
      if (batch.length > 0 && cost + nextCost > maxBatchCost) continue
      cost += nextCost
      batch.push(waiting.shift()!)
      queues.delete(queue)
      if (waiting.length > 0) queues.set(queue, waiting)
    }
    queued -= batch.length
    return batch.filter(isAwaited)
  }

  const flush = () => {
    while (inFlight < options.maxInFlight && queued > 0) {
      const batch = nextBatch()
      if (batch.length > 0) void dispatch(batch)
    }
  }

  const enter = (queue: unknown, waiting: Waiting<Item, Result>) => {
    const before = queues.get(queue)
    if (before) before.push(waiting)
    else queues.set(queue, [waiting])
    queued += 1
  }

  // At the end of this turn of the event loop: requests that were read from many sockets in it leave together. In a
  // microtask the first of them would leave alone, and the second; seen with 64 clients: of four calls three were lone.
  const flushSoon = () => {
    if (flushing) return
    flushing = true
    setImmediate(() => {
      flushing = false
      flush()
    })
  }

  return (item, limits) =>
    new Promise<Result>((resolve, reject) => {
      const queue = queueOf?.(item)
      if (queued >= options.maxQueued || (queues.get(queue)?.length ?? 0) >= maxPerQueue) {
        meter?.refused()
        reject(new TooBusy())
        return
      }
      enter(
        queue,
        limits
          ? within(limits, { item, resolve, reject }, maxWaitMs)
          : { item, ...FOREVER, trace: traceContext(), sent: false, resolve, reject },
      )
      flushSoon()
    })
}
