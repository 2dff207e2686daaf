import {
  type BatcherMeters,
  createBatcher,
  type Database,
  isRefusedValue,
  isTimedOut,
} from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock'
import { LARGE_BYTES } from '../queue/large-bodies'
import type { Sender } from '../queue/send-deliveries'
import { bytesOf, type StoredEvent } from './read-event'
import { storeEvents } from './store-events'

/** What one statement writes: some 100 ms of PostgreSQL's time on one processor. */
const BATCH_ROWS = 1000
const BATCH_BYTES = 4 * 1024 * 1024
const BATCH_EVENTS = 100
/** For so long after an event of an account did not fit, or timed out, its events are stored separately. */
const SEPARATE_FOR_MS = 10_000

/** `error`: why the event can't be stored, by its data or because its transaction takes too long. */
export type StoreResult = 'stored' | { error: unknown }

const isLarge = (event: StoredEvent) => bytesOf(event) > LARGE_BYTES
const isOfTheEvents = (error: unknown) => isTimedOut(error) || isRefusedValue(error)

/**
 * Makes the function that stores an event, in statements that are bounded by what they write, so that no account waits for another.
 * Most events share batches, one of each account in turn. Stored separately, with a statement for each account, are large bodies, what
 * did not fit into its batch, batches that failed, and all events of an account of which some did not fit or timed out a moment ago.
 */
export const createStore = (options: {
  queue: Database
  clock: Clock
  sender: Pick<Sender, 'claimable' | 'onStored'>
  /** Called after the commit with the accounts whose logs have new events. */
  onLogged?: ((accountIds: number[]) => void) | undefined
  meters?: BatcherMeters | undefined
}): ((event: StoredEvent) => Promise<StoreResult>) => {
  const { queue, clock, sender, onLogged, meters } = options
  const separateNow = new LRUCache<number, true>({ max: 10_000, ttl: SEPARATE_FOR_MS })

  const store = async (events: StoredEvent[]): Promise<('stored' | undefined)[]> => {
    const { claimed, due, remaining, logged } = await storeEvents(queue, {
      ...{ events, now: clock.now(), maxRows: BATCH_ROWS },
      ...sender.claimable(new Set(events.map(({ accountId }) => accountId))),
      // Large bodies are read when they are claimed, as far as memory has room.
      ...(events.some(isLarge) && { claimable: 0 }),
    })
    sender.onStored(claimed, due)
    if (logged.length > 0) onLogged?.(logged)
    return events.map(({ id }) => (remaining.has(id) ? undefined : 'stored'))
  }

  const storeOfAccount = async (events: StoredEvent[]): Promise<(StoreResult | undefined)[]> => {
    try {
      return await store(events)
    } catch (error) {
      if (!isOfTheEvents(error)) throw error
      if (isTimedOut(error)) separateNow.set(events[0]!.accountId, true)
      if (isTimedOut(error) || events.length === 1) return events.map(() => ({ error }))
      const results: (StoreResult | undefined)[] = []
      for (const event of events) results.push(...(await storeOfAccount([event])))
      return results
    }
  }

  const storeSeparately = async (events: StoredEvent[]): Promise<(StoreResult | undefined)[]> => {
    const results = new Map<StoredEvent, StoreResult | undefined>()
    for (const accountId of new Set(events.map((event) => event.accountId))) {
      const own = events.filter((event) => event.accountId === accountId)
      const stored = await storeOfAccount(own)
      own.forEach((event, index) => void results.set(event, stored[index]))
    }
    return events.map((event) => results.get(event))
  }

  const bounds = {
    ...{ maxBatch: BATCH_EVENTS, maxBatchCost: BATCH_BYTES, costOf: bytesOf },
    ...{ queueOf: ({ accountId }: StoredEvent) => accountId, maxQueued: 20_000 },
  }
  const shared = createBatcher({ ...bounds, send: store, maxInFlight: 2, meter: meters?.('store') })
  // One at a time: a large fan-out takes processor time of the database from all other statements. The metric keeps its name.
  const meter = meters?.('store_apart')
  const separate = createBatcher({ ...bounds, send: storeSeparately, maxInFlight: 1, meter })

  const storeShared = async (event: StoredEvent): Promise<'stored' | undefined> => {
    if (isLarge(event) || separateNow.has(event.accountId)) return undefined
    try {
      const stored = await shared(event)
      if (!stored) separateNow.set(event.accountId, true)
      return stored
    } catch (error) {
      if (isOfTheEvents(error)) return undefined
      throw error
    }
  }

  return async (event) => {
    let result: StoreResult | undefined = await storeShared(event)
    while (!result) result = await separate(event)
    return result
  }
}
