import {
  type BatcherMeters,
  createBatcher,
  type Database,
  isRefusedValue,
  isTimedOut,
  violatedConstraint,
} from '@leadwire/service-kit'
import type { Clock } from '../../clock'
import { LARGE_BYTES } from '../attempt/large-bodies'
import type { ClaimLimits } from '../claim/claim-new-deliveries'
import { type Appended, appendEvents } from './append-events'
import { countBytes, type StoredEvent } from './read-event'
import { recordMessages } from './record-messages'

/**
 * The maximum number of events that one transaction stores, and the maximum number of bytes in their bodies.
 */
const BATCH_EVENTS = 100
const BATCH_BYTES = 4 * 1024 * 1024
const MAX_QUEUED = 20_000

/**
 * The result for one event.
 *
 * - `stored`: the event is stored, now or by an earlier message.
 * - `erased`: the event was stored and then erased, so this message must be deleted from the stream.
 * - `error`: PostgreSQL refuses the event, or does not store it in time.
 */
export type AppendResult = 'stored' | 'erased' | { error: unknown }

const isLarge = (event: StoredEvent) => countBytes(event) > LARGE_BYTES
/**
 * Returns whether PostgreSQL has refused a value of an event. A duplicate number (`events_by_number`) does
 * not count, because it is an error in the database and not in the event.
 */
const isInvalidEvent = (error: unknown) =>
  isRefusedValue(error) && violatedConstraint(error) !== 'events_by_number'

/**
 * Creates the function that appends an event. Events are batched: a fair queue takes one event of each
 * account in turn, so that an account with many events does not delay other accounts. Large events are
 * batched separately, with one transaction at a time.
 *
 * If an endpoint stays locked, the batch is appended again without fan-outs. If PostgreSQL refuses a value of
 * the batch, each event is appended separately, so that one invalid event does not hold back the other
 * events.
 */
export const createAppend = (options: {
  /** A database whose commits wait for the disk. */
  database: Database
  clock: Clock
  /** Returns how many new deliveries of these accounts this process may claim when it creates them. */
  findClaimLimits: (accountIds: Set<number>) => ClaimLimits
  /** Called after each commit. */
  onAppended: (appended: Appended) => void
  meters?: BatcherMeters | undefined
}): ((event: StoredEvent) => Promise<AppendResult>) => {
  const { database, clock, findClaimLimits, onAppended, meters } = options

  const append = async (events: StoredEvent[], fansOut: boolean): Promise<AppendResult[]> => {
    const limits = findClaimLimits(new Set(events.map(({ accountId }) => accountId)))
    // Leaves deliveries with large bodies to the claim step, which reads these bodies only if they fit into
    // memory.
    const deliveries = events.some(isLarge) ? 0 : limits.deliveries
    const appended = await appendEvents(database, {
      events,
      now: clock.now(),
      fansOut,
      limits: { ...limits, deliveries },
    })
    onAppended(appended)
    const erased = await recordMessages(database, appended.repeated)
    return events.map(({ id }) => (erased.has(id) ? 'erased' : 'stored'))
  }

  const appendWithoutFanOut = async (events: StoredEvent[]): Promise<AppendResult[]> => {
    try {
      return await append(events, false)
    } catch (error) {
      if (!isTimedOut(error) && !isInvalidEvent(error)) throw error
      if (isTimedOut(error) || events.length === 1) return events.map(() => ({ error }))
    }
    const results: AppendResult[] = []
    for (const event of events) results.push(...(await appendWithoutFanOut([event])))
    return results
  }

  const appendBatch = async (events: StoredEvent[]): Promise<AppendResult[]> => {
    try {
      return await append(events, true)
    } catch (error) {
      if (!isTimedOut(error) && !isInvalidEvent(error)) throw error
    }
    return appendWithoutFanOut(events)
  }

  const batches = {
    send: appendBatch,
    maxBatch: BATCH_EVENTS,
    maxBatchCost: BATCH_BYTES,
    maxQueued: MAX_QUEUED,
    computeCost: countBytes,
    findQueue: ({ accountId }: StoredEvent) => accountId,
  }
  const appendSmall = createBatcher({ ...batches, maxInFlight: 2, meter: meters?.('append') })
  const appendLarge = createBatcher({ ...batches, maxInFlight: 1, meter: meters?.('append_large') })

  return (event) => (isLarge(event) ? appendLarge(event) : appendSmall(event))
}
