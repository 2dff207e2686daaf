import {
  columnsByName,
  type Database,
  type EventMessage,
  type OpenTransaction,
  statement,
  violatedConstraint,
} from '@leadwire/service-kit'
import type { ClaimedDelivery } from '../claim/claim-deliveries'
import { type ClaimLimits, describeClaimed, planClaims } from '../claim/claim-new-deliveries'
import type { DueEndpoint } from '../claim/due-endpoints'
import { createDeliveries, findReceivers, type LockedEndpoint } from '../fan-out/create-deliveries'
import { queueFanOuts } from '../fan-out/fan-out-queue'
import type { StoredEvent } from './read-event'

const NO_BODY = Buffer.alloc(0)
/** Events of accounts with at most this many endpoints fan out in the transaction that appends them. */
const MAX_DIRECT_ENDPOINTS = 10

const findStored = statement<{ id: string }>('find-appended-events')`
  SELECT id FROM events WHERE id = ANY (:ids::uuid[])`

// Locks the counters until the commit, in the order of their accounts. Also removes the `lock_timeout` that
// `findReceivers` has set for the locks of endpoints.
const raiseCounters = statement<{ accountId: number; last: number }>('raise-event-counters')`
  INSERT INTO public.event_counters AS c (account_id, last)
  SELECT n.account_id, n.count
  FROM set_config('lock_timeout', '0', true),
    unnest(:accountIds::bigint[], :counts::bigint[]) AS n (account_id, count)
  ORDER BY n.account_id
  ON CONFLICT (account_id) DO UPDATE SET last = c.last + excluded.last
  RETURNING account_id AS "accountId", last`

// While the counters are locked, no other transaction queues a numbered event of these accounts. Must follow
// `raiseCounters` as a separate statement, because a statement that waits for a lock still reads the snapshot
// from before its wait.
const findQueuedAccounts = statement<{ accountId: number }>('find-accounts-with-queued-events')`
  SELECT id AS "accountId" FROM unnest(:accountIds::bigint[]) AS a (id)
  WHERE EXISTS (SELECT FROM fan_out_queue q WHERE q.account_id = a.id)`

// All bodies are sent as one value, because the driver would send an array of bodies as text. `first` is the
// position of an event's first body in this value. Positions start at 1.
const insert = statement('append-events')`
  INSERT INTO events (id, account_id, account_key, lead_reference, type, body, body_with_attributes, traceparent,
    stream_sequence, fan_out, number, lead_version, test, match, created_at)
  SELECT id, account_id, account_key, lead_reference, type, substring(:bodies::bytea FROM first FOR length),
    CASE WHEN length_with > 0 THEN substring(:bodies::bytea FROM first + length FOR length_with) END, traceparent,
    stream_sequence, fan_out, number, lead_version, test, match, coalesce(created_at, clock_timestamp())
  FROM unnest(:id::uuid[], :accountId::bigint[], :accountKey::text[], :leadReference::uuid[], :type::text[],
    :first::int[], :length::int[], :lengthWith::int[], :traceparent::text[], :streamSequence::bigint[],
    :fanOut::int[], :number::bigint[], :leadVersion::int[], :test::boolean[], :match::jsonb[],
    :createdAt::timestamptz[])
    AS e (id, account_id, account_key, lead_reference, type, first, length, length_with, traceparent,
      stream_sequence, fan_out, number, lead_version, test, match, created_at)
  ORDER BY id`

export interface AppendOptions {
  events: StoredEvent[]
  now: Date
  /** Whether the transaction may create deliveries. If false, it queues all events and locks no endpoint. */
  fansOut: boolean
  limits: ClaimLimits
}

export interface Appended {
  /** New deliveries that this process claimed when it created them. */
  claimed: ClaimedDelivery[]
  /** The endpoints of the deliveries that were created without a claim. */
  due: DueEndpoint[]
  /** Messages whose events were already stored. */
  repeated: EventMessage[]
  /** Accounts whose logs have new events. */
  loggedAccountIds: number[]
  /** Whether events were added to the fan-out queue. */
  hasQueued: boolean
}

const listMessages = (events: StoredEvent[]): EventMessage[] =>
  events.flatMap(({ id, streamSequence }) =>
    streamSequence === undefined ? [] : [{ eventId: id, sequence: streamSequence }],
  )

const isNumbered = ({ leadVersion }: StoredEvent) => leadVersion !== null

/** Returns how many numbered events each account has. */
const countByAccount = (events: StoredEvent[]): Map<number, number> => {
  const counts = new Map<number, number>()
  for (const { accountId } of events.filter(isNumbered))
    counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  return counts
}

/**
 * Returns the number of each event, and null for an event without a number. `nextNumbers` has, for each
 * account, the number of its first new event.
 */
const numberEvents = (events: StoredEvent[], nextNumbers: Map<number, number>): (number | null)[] => {
  const next = new Map(nextNumbers)
  return events.map((event) => {
    if (!isNumbered(event)) return null
    const number = next.get(event.accountId)!
    next.set(event.accountId, number + 1)
    return number
  })
}

/** Returns the position of each event's first body in the concatenated bodies. Positions start at 1. */
const findFirstBytes = (events: StoredEvent[]): number[] => {
  let next = 1
  return events.map(({ body, bodyWithAttributes }) => {
    const first = next
    next += body.length + (bodyWithAttributes?.length ?? 0)
    return first
  })
}

/** An event to store. */
interface PlannedEvent {
  event: StoredEvent
  /** The number of the event in its account's log, or null for an event without a number. */
  number: number | null
  /** The endpoints that receive the event, or null if the event must enter the fan-out queue. */
  receivers: LockedEndpoint[] | null
}

const insertEvents = (tx: OpenTransaction, planned: PlannedEvent[]) => {
  const events = planned.map(({ event }) => event)
  const bodies = events.flatMap(({ body, bodyWithAttributes }) => [body, bodyWithAttributes ?? NO_BODY])
  insert.send(tx, {
    ...columnsByName(events, 'id', 'accountId', 'accountKey', 'leadReference', 'type', 'test', 'match'),
    ...columnsByName(events, 'traceparent', 'streamSequence', 'leadVersion', 'createdAt'),
    number: planned.map(({ number }) => number),
    fanOut: planned.map(({ receivers }) => receivers?.length ?? null),
    bodies: Buffer.concat(bodies),
    first: findFirstBytes(events),
    length: events.map(({ body }) => body.length),
    lengthWith: events.map(({ bodyWithAttributes }) => bodyWithAttributes?.length ?? 0),
  })
}

const listAccountIds = (events: StoredEvent[]) => [...new Set(events.map(({ accountId }) => accountId))]

/** Locks endpoints and counters. Then numbers the events and decides which of them fan out now. */
const planEvents = async (
  tx: OpenTransaction,
  { events, fansOut }: AppendOptions,
): Promise<PlannedEvent[]> => {
  const counts = countByAccount(events)
  const [fanOut, counters, queued] = await Promise.all([
    fansOut ? findReceivers(tx, events, { mostEndpoints: MAX_DIRECT_ENDPOINTS }) : undefined,
    raiseCounters(tx, { accountIds: [...counts.keys()], counts: [...counts.values()] }),
    findQueuedAccounts(tx, { accountIds: listAccountIds(events) }),
  ])
  const nextNumbers = counters.map(
    ({ accountId, last }) => [accountId, last - counts.get(accountId)! + 1] as const,
  )
  const numbers = numberEvents(events, new Map(nextNumbers))
  const queuedAccountIds = new Set(queued.map(({ accountId }) => accountId))
  return events.map((event, index) => {
    const { id, accountId } = event
    const fansOutNow = fanOut && !fanOut.isCut(accountId) && !queuedAccountIds.has(accountId)
    return { event, number: numbers[index]!, receivers: fansOutNow ? fanOut.receivers.get(id)! : null }
  })
}

/**
 * Stores new events and creates their deliveries. The result contains the deliveries as a promise
 * (`created`), which is not awaited here. The commit therefore follows at once, and the counters are locked
 * as briefly as possible.
 */
const writeEvents = async (tx: OpenTransaction, options: AppendOptions) => {
  const { now, limits } = options
  const planned = await planEvents(tx, options)
  const queued = planned.filter(({ receivers }) => receivers === null).map(({ event }) => event)
  const wanted = planned.flatMap(({ event, receivers }) =>
    (receivers ?? []).map((endpoint) => ({ event, endpoint })),
  )
  const deliveries = planClaims(wanted, limits)
  insertEvents(tx, planned)
  queueFanOuts(tx, queued)
  const created = createDeliveries(tx, deliveries, { now, claimMs: limits.claim.validMs })
  return { planned, deliveries, hasQueued: queued.length > 0, created }
}

/** Appends the events in one transaction. Skips events that are already stored. */
const appendNewEvents = async (database: Database, options: AppendOptions) => {
  let events = options.events
  for (;;) {
    try {
      return await database.transaction((tx) => writeEvents(tx, { ...options, events }))
    } catch (error) {
      if (violatedConstraint(error) !== 'events_pkey') throw error
    }
    const stored = await findStored(database, { ids: events.map(({ id }) => id) })
    const storedIds = new Set(stored.map(({ id }) => id))
    events = events.filter(({ id }) => !storedIds.has(id))
  }
}

/**
 * Numbers and stores events in one transaction. Events that are already stored stay as they are: they fail
 * the transaction, which is then repeated without them. An event of a lead gets the next number of its
 * account. The transaction locks the counters of the accounts until the commit, so the numbers have no gaps
 * and become visible in their order. The commit waits for the disk, so a number that a receiver has seen is
 * never assigned again.
 *
 * The transaction also creates the deliveries of accounts with few endpoints, if no event of the account
 * waits in the fan-out queue. All other events enter the queue. Up to `limits`, this process claims the new
 * deliveries when it creates them. Further deliveries are created without a claim.
 *
 * Locks endpoints, then counters, then events, each in the order of their ids. Rejects if an endpoint stays
 * locked (`isTimedOut`), or if PostgreSQL refuses a value of an event (`isRefusedValue`).
 */
export const appendEvents = async (database: Database, options: AppendOptions): Promise<Appended> => {
  // A batch may contain an event twice. The earlier message of the two counts as repeated.
  const unique = new Map(options.events.map((event) => [event.id, event]))
  const written = await appendNewEvents(database, { ...options, events: [...unique.values()] })
  const { planned, deliveries, hasQueued } = written
  const appended = planned.map(({ event }) => event)
  const appendedEvents = new Set(appended)
  const sequences = new Map(planned.map(({ event, number }) => [event.id, number]))
  const created = await written.created
  return {
    ...describeClaimed({ deliveries, created, sequences, now: options.now }),
    repeated: listMessages(options.events.filter((event) => !appendedEvents.has(event))),
    loggedAccountIds: listAccountIds(appended.filter(isNumbered)),
    hasQueued,
  }
}
