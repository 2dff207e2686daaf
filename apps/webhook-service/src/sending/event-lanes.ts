import { type GatherMeters, gather, isCutOff, isRefusedValue, type Logger } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import type { Stored, StoreResult } from '../events/store-events'
import type { StoredEvent } from '../events/stored-event'
import { LARGE_BODY_BYTES } from './bodies-in-hand'
import type { KnownEndpoints } from './known-endpoints'

/** What one statement writes: some 100 ms of PostgreSQL's time on one processor. */
const BATCH_ROWS = 1000
const BATCH_BYTES = 4 * 1024 * 1024
const BATCH_EVENTS = 100
/** An event that is a larger part of a batch is stored in its account's own lane. */
const SHARED_AT_MOST = 1 / 4
/** So many statements of accounts' own lanes run at once, of different accounts. */
const APART_AT_ONCE = 3
/** For so long after a batch of an account was late, its events keep to its own lane. */
const APART_FOR_MS = 10_000

interface Weighed {
  event: StoredEvent
  /** The share of a batch's rows and bytes. */
  cost: number
}

// PostgreSQL will say the same next time.
const isOfTheEvents = (error: unknown) => isCutOff(error) || isRefusedValue(error)

/**
 * Stores events in batches that are bounded by what they write, so that no account waits for another's.
 *
 * Ordinary events share batches, one of each account in turn. An event that writes much (many endpoints, a large body),
 * and those of an account whose last batch was late, go through the account's own lane: one statement at a time, and few
 * lanes at once. A batch that fails by one of its events is split: each of them is tried alone, in its account's lane.
 */
export const createEventLanes = (options: {
  store: (events: StoredEvent[]) => Promise<Stored>
  endpoints: Pick<KnownEndpoints, 'count' | 'forget'>
  meters?: GatherMeters | undefined
  logger: Logger
}): ((event: StoredEvent) => Promise<StoreResult>) => {
  const { store, endpoints, meters, logger } = options
  const bounds = { maxBatch: BATCH_EVENTS, maxBatchCost: 1, costOf: ({ cost }: Weighed) => cost }
  const keptApart = new LRUCache<number, true>({ max: 10_000, ttl: APART_FOR_MS })

  const weigh = async (event: StoredEvent): Promise<Weighed> => {
    const rows = 1 + (await endpoints.count(event))
    return { event, cost: rows / BATCH_ROWS + event.body.length / BATCH_BYTES }
  }

  const shared = gather({
    ...bounds,
    send: async (batch: Weighed[]): Promise<StoreResult[]> => {
      const stored = await store(batch.map(({ event }) => event))
      return batch.map(() => stored)
    },
    laneOf: ({ event }) => event.accountId,
    maxInFlight: 2,
    maxQueued: 20_000,
    meter: meters?.('store'),
  })

  // Who asks first is served first, and each lane asks for one statement at a time.
  const inTurn = gather({
    send: async ([events]: StoredEvent[][]) => [await store(events!)],
    maxBatch: 1,
    maxInFlight: APART_AT_ONCE,
    maxQueued: Number.POSITIVE_INFINITY,
    meter: meters?.('store_apart'),
  })

  const storeOrSplit = async (events: StoredEvent[]): Promise<StoreResult[]> => {
    try {
      const stored = await inTurn(events)
      return events.map(() => stored)
    } catch (error) {
      if (!isOfTheEvents(error)) throw error
      if (isCutOff(error)) keptApart.set(events[0]!.accountId, true)
      if (events.length === 1) return [{ fault: error }]
      logger.warn({ err: error, events: events.length }, 'a batch of events failed: each is stored alone')
      const results: StoreResult[] = []
      for (const event of events) results.push(...(await storeOrSplit([event])))
      return results
    }
  }

  const lanes = new Map<number, { waiting: number; store: (weighed: Weighed) => Promise<StoreResult> }>()
  const storeInLane = async (weighed: Weighed): Promise<StoreResult> => {
    const { accountId } = weighed.event
    let lane = lanes.get(accountId)
    if (!lane) {
      const send = (batch: Weighed[]) => storeOrSplit(batch.map(({ event }) => event))
      lane = { waiting: 0, store: gather({ ...bounds, send, maxInFlight: 1, maxQueued: 20_000 }) }
      lanes.set(accountId, lane)
    }
    lane.waiting += 1
    try {
      return await lane.store(weighed)
    } finally {
      lane.waiting -= 1
      if (lane.waiting === 0) lanes.delete(accountId)
    }
  }

  const mayShare = ({ event, cost }: Weighed) =>
    cost <= SHARED_AT_MOST && event.body.length <= LARGE_BODY_BYTES && !keptApart.has(event.accountId)

  return async (event) => {
    const weighed = await weigh(event)
    if (!mayShare(weighed)) return storeInLane(weighed)
    try {
      return await shared(weighed)
    } catch (error) {
      if (!isOfTheEvents(error)) throw error
      // One account of the batch may have more endpoints than was known.
      endpoints.forget(event.accountId)
      return storeInLane(await weigh(event))
    }
  }
}
