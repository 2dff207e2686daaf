import { ServiceError } from './service-error'

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Turns calls for one item into calls for many: while a batch is on its way, what arrives joins the next one.
 *
 * A lone item leaves at once, which is at the end of the event loop's turn. `send` answers with one result for each
 * item, in order; when it rejects, every item of that batch is rejected with the same error, and no other is. An item
 * that is aborted before its batch left is not sent; one that is aborted later is rejected at once, and its neighbours
 * go on.
 *
 * A batch has at most `maxBatch` items. With `costOf` it also ends before the item with which its summed cost would
 * exceed `maxBatchCost`; an item that alone costs more goes alone.
 *
 * `maxQueued` bounds what waits: beyond it an item is rejected as unavailable, which is kinder than a queue that
 * can only grow.
 */
export const gather = <Item, Result>(options: {
  send: (items: Item[]) => Promise<Result[]>
  maxBatch: number
  maxInFlight: number
  maxQueued: number
  costOf?: (item: Item) => number
  maxBatchCost?: number
}): ((item: Item, signal?: AbortSignal) => Promise<Result>) => {
  const { costOf = () => 0, maxBatchCost = Number.POSITIVE_INFINITY } = options
  const queue: Waiting<Item, Result>[] = []
  let inFlight = 0
  let flushing = false

  const dispatch = async (batch: Waiting<Item, Result>[]) => {
    inFlight += 1
    try {
      const results = await sendAll(batch)
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

  const sendAll = async (batch: Waiting<Item, Result>[]) => {
    try {
      return await options.send(batch.map(({ item }) => item))
    } finally {
      inFlight -= 1
      // The next batch leaves before this one's items are answered, so that both sides work meanwhile.
      flush()
    }
  }

  const nextBatch = () => {
    let count = 0
    let cost = 0
    for (const { item } of queue) {
      cost += costOf(item)
      if (count === options.maxBatch || (count > 0 && cost > maxBatchCost)) break
      count += 1
    }
    return queue.splice(0, count)
  }

  const flush = () => {
    while (inFlight < options.maxInFlight && queue.length > 0) void dispatch(nextBatch())
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

  return (item, signal) =>
    new Promise<Result>((resolve, reject) => {
      if (queue.length >= options.maxQueued) {
        reject(new ServiceError('unavailable', 'Too many requests are waiting. Try again shortly.'))
        return
      }
      signal?.throwIfAborted()
      const waiting = { item, resolve, reject }
      signal?.addEventListener(
        'abort',
        () => {
          const place = queue.indexOf(waiting)
          if (place !== -1) queue.splice(place, 1)
          reject(signal.reason)
        },
        { once: true },
      )
      queue.push(waiting)
      flushSoon()
    })
}
