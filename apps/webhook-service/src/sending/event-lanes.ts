import {
  type BatcherMeters,
  createBatcher,
  type Database,
  isRefusedValue,
  isTimedOut,
} from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import type { ClaimedDelivery } from '../claim'
import type { Clock } from '../clock'
import { type StoreResult, storeEvents } from '../events/store-events'
import type { StoredEvent } from '../events/stored-event'
import type { DueEndpoint } from './due-endpoints'
import { LARGE_BYTES } from './large-bodies'

/** What one statement writes: some 100 ms of PostgreSQL's time on one processor. */
const BATCH_ROWS = 1000
const BATCH_BYTES = 4 * 1024 * 1024
const BATCH_EVENTS = 100
/** For so long after an event of an account did not fit, or was late, its events are stored apart. */
const APART_FOR_MS = 10_000

const isLarge = ({ body }: StoredEvent) => body.length > LARGE_BYTES
// PostgreSQL will say the same next time.
const isOfTheEvents = (error: unknown) => isTimedOut(error) || isRefusedValue(error)

/**
 * Stores events in statements that are bounded by what they write, so that no account waits for another's.
 *
 * Ordinary events share batches, one of each account in turn. Apart, with a statement for each account, are stored: what
 * did not fit into its batch, large bodies, batches that failed, and all events of an account of which some did not fit or were late a
 * moment ago.
 */
export const createEventLanes = (options: {
  /** As `connectQueue` connects it. */
  queue: Database
  clock: Clock
  /** How `storeEvents` may claim for these accounts. */
  mayClaim: (
    accountIds: Set<number>,
  ) => Pick<Parameters<typeof storeEvents>[1], 'claim' | 'claimable' | 'perEndpoint' | 'waiting'>
  /** Hears of what was claimed, and of the endpoints of the rest. */
  onStored: (claimed: ClaimedDelivery[], due: DueEndpoint[]) => void
  meters?: BatcherMeters | undefined
}) => {
  const { queue, clock, mayClaim, onStored, meters } = options
  const apartNow = new LRUCache<number, true>({ max: 10_000, ttl: APART_FOR_MS })

  /** Answers with one result for each event; undefined for one that did not fit. */
  const store = async (events: StoredEvent[]): Promise<('stored' | undefined)[]> => {
    const dueAt = clock.now()
    const { claimed, due, unfit } = await storeEvents(queue, {
      ...{ events, dueAt: dueAt.toISOString(), maxRows: BATCH_ROWS },
      ...mayClaim(new Set(events.map(({ accountId }) => accountId))),
      // Of large bodies only as many are in memory as there is room for: when they are claimed.
      ...(events.some(isLarge) && { claimable: 0 }),
    })
    onStored(
      claimed,
      due.map((endpoint) => ({ ...endpoint, dueAt: dueAt.getTime() })),
    )
    return events.map(({ id }) => (unfit.has(id) ? undefined : 'stored'))
  }

  const storeOwn = async (events: StoredEvent[]): Promise<(StoreResult | undefined)[]> => {
    try {
      return await store(events)
    } catch (error) {
      if (!isOfTheEvents(error)) throw error
      if (isTimedOut(error)) apartNow.set(events[0]!.accountId, true)
      if (isTimedOut(error) || events.length === 1) return events.map(() => ({ fault: error }))
      const results: (StoreResult | undefined)[] = []
      for (const event of events) results.push(...(await storeOwn([event])))
      return results
    }
  }

  const storeApart = async (events: StoredEvent[]): Promise<(StoreResult | undefined)[]> => {
    const results = new Map<StoredEvent, StoreResult | undefined>()
    for (const accountId of new Set(events.map((event) => event.accountId))) {
      const own = events.filter((event) => event.accountId === accountId)
      const stored = await storeOwn(own)
      own.forEach((event, index) => void results.set(event, stored[index]))
    }
    return events.map((event) => results.get(event))
  }

  const bounds = {
    ...{ maxBatch: BATCH_EVENTS, maxBatchCost: BATCH_BYTES, costOf: ({ body }: StoredEvent) => body.length },
    queueOf: ({ accountId }: StoredEvent) => accountId,
    maxQueued: 20_000,
  }
  const shared = createBatcher({ ...bounds, send: store, maxInFlight: 2, meter: meters?.('store') })
  // One after another: a large fan-out takes the database's processors from what everybody else stores and claims.
  const apart = createBatcher({ ...bounds, send: storeApart, maxInFlight: 1, meter: meters?.('store_apart') })

  const storeShared = async (event: StoredEvent): Promise<'stored' | undefined> => {
    if (isLarge(event) || apartNow.has(event.accountId)) return undefined
    try {
      const stored = await shared(event)
      if (!stored) apartNow.set(event.accountId, true)
      return stored
    } catch (error) {
      if (isOfTheEvents(error)) return undefined
      throw error
    }
  }

  /** Stores an event with its fan-out. One that is there already changes nothing. */
  return async (event: StoredEvent): Promise<StoreResult> => {
    let result: StoreResult | undefined = await storeShared(event)
    while (!result) result = await apart(event)
    return result
  }
}
