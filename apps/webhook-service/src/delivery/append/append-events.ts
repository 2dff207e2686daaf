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
import { createDeliveries, findReceivers } from '../fan-out/create-deliveries'
import { queueFanOuts } from '../fan-out/fan-out-queue'
import type { StoredEvent } from './read-event'

const NO_BODY = Buffer.alloc(0)
/** Events of accounts with at most this many endpoints fan out in the transaction that appends them. */
const MAX_DIRECT_ENDPOINTS = 10

const findStored = statement<{ id: string }>('find-appended-events')`
  SELECT id FROM events WHERE id = ANY (:ids::uuid[])`

// Locks the counters until the commit, in the order of their accounts. Also removes the `lock_timeout` that
// `findReceivers` has set for the locks of endpoints.
const raiseCounters = statement('raise-event-counters')`
  INSERT INTO public.event_counters AS c (account_id, last)
  SELECT n.account_id, n.count
  FROM set_config('lock_timeout', '0', true),
    unnest(:accountIds::bigint[], :counts::bigint[]) AS n (account_id, count)
  ORDER BY n.account_id
  ON CONFLICT (account_id) DO UPDATE SET last = c.last + excluded.last`

// An event fans out now only if its account has no event in the fan-out queue. The counters are locked, so no
// other transaction can queue a numbered event of these accounts meanwhile.
//
// All bodies are sent as one value, because the driver would send an array of bodies as text. `first` is the
// position of an event's first body in this value. Positions start at 1.
const insert = statement<{ id: string; number: number | null; fansOutLater: boolean }>('append-events')`
  INSERT INTO events (id, account_id, account_key, lead_reference, type, body, body_with_attributes, traceparent, stream_sequence,
    fan_out, number, lead_version, test, match, created_at)
  SELECT id, e.account_id, account_key, lead_reference, type, substring(:bodies::bytea FROM first FOR length),
    CASE WHEN length_with > 0 THEN substring(:bodies::bytea FROM first + length FOR length_with) END, traceparent, stream_sequence,
    CASE WHEN NOT EXISTS (SELECT FROM fan_out_queue q WHERE q.account_id = e.account_id) THEN fan_out END,
    c.last - later, lead_version, test, match, coalesce(created_at, clock_timestamp())
  FROM unnest(:id::uuid[], :accountId::bigint[], :accountKey::text[], :leadReference::uuid[], :type::text[],
    :first::int[], :length::int[], :lengthWith::int[], :traceparent::text[], :streamSequence::bigint[],
    :fanOut::int[], :later::bigint[], :leadVersion::int[], :test::boolean[], :match::jsonb[], :createdAt::timestamptz[])
    AS e (id, account_id, account_key, lead_reference, type, first, length, length_with, traceparent, stream_sequence,
      fan_out, later, lead_version, test, match, created_at)
  LEFT JOIN public.event_counters c ON c.account_id = e.account_id
  ORDER BY id
  RETURNING id, number, fan_out IS NULL AS "fansOutLater"`

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
 * Returns for each event how many numbered events of its account follow it in the batch, and null for an
 * event without a number. The event's number is the account's raised counter minus this count.
 */
const countLater = (events: StoredEvent[]): (number | null)[] => {
  const left = countByAccount(events)
  return events.map((event) => {
    if (!isNumbered(event)) return null
    const later = left.get(event.accountId)! - 1
    left.set(event.accountId, later)
    return later
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

const insertEvents = (tx: OpenTransaction, events: StoredEvent[], fanOuts: (number | null)[]) => {
  const bodies = events.flatMap(({ body, bodyWithAttributes }) => [body, bodyWithAttributes ?? NO_BODY])
  return insert(tx, {
    ...columnsByName(events, 'id', 'accountId', 'accountKey', 'leadReference', 'type', 'test', 'match'),
    ...columnsByName(events, 'traceparent', 'streamSequence', 'leadVersion', 'createdAt'),
    fanOut: fanOuts,
    later: countLater(events),
    bodies: Buffer.concat(bodies),
    first: findFirstBytes(events),
    length: events.map(({ body }) => body.length),
    lengthWith: events.map(({ bodyWithAttributes }) => bodyWithAttributes?.length ?? 0),
  })
}

const listIds = (events: StoredEvent[]) => events.map(({ id }) => id)
const listAccountIds = (events: StoredEvent[]) => [...new Set(events.map(({ accountId }) => accountId))]

/** Finds out which events are new, and which of their deliveries to create. Writes nothing. */
const planAppend = async (tx: OpenTransaction, { events, fansOut, limits }: AppendOptions) => {
  const [stored, fanOut] = await Promise.all([
    findStored(tx, { ids: listIds(events) }),
    fansOut ? findReceivers(tx, events, { mostEndpoints: MAX_DIRECT_ENDPOINTS }) : undefined,
  ])
  const storedIds = new Set(stored.map(({ id }) => id))
  const fresh = events.filter(({ id }) => !storedIds.has(id))
  const listReceivers = ({ id, accountId }: StoredEvent) =>
    fanOut === undefined || fanOut.isCut(accountId) ? null : fanOut.receivers.get(id)!
  const planned = fresh.flatMap((event) =>
    (listReceivers(event) ?? []).map((endpoint) => ({ event, endpoint })),
  )
  return {
    fresh,
    repeated: events.filter(({ id }) => storedIds.has(id)),
    /** The number of deliveries of each new event, or null if the event must enter the fan-out queue. */
    fanOuts: fresh.map((event) => listReceivers(event)?.length ?? null),
    deliveries: planClaims(planned, limits),
  }
}

/**
 * Writes the planned rows. Resolves with promises of the rows without waiting for them, so that the commit
 * follows at once, and the counters stay locked for the shortest time.
 */
const writeEvents = async (tx: OpenTransaction, options: AppendOptions) => {
  const { now, limits } = options
  const { fresh, repeated, fanOuts, deliveries } = await planAppend(tx, options)
  const counts = countByAccount(fresh)
  raiseCounters.send(tx, { accountIds: [...counts.keys()], counts: [...counts.values()] })
  const inserted = insertEvents(tx, fresh, fanOuts)
  queueFanOuts(tx, fresh)
  const created = createDeliveries(tx, deliveries, { now, claimMs: limits.claim.validMs })
  return { fresh, repeated, deliveries, inserted, created }
}

/**
 * Numbers and stores events in one transaction. Events that are already stored stay as they are. An event
 * of a lead gets the next number of its account. The transaction locks the counters of the accounts until
 * the commit, so the numbers have no gaps and become visible in their order. It locks them after all reads,
 * so that other batches of the same accounts wait only briefly. The commit waits for the disk, so a number
 * that a receiver has seen is never assigned again.
 *
 * The transaction also creates the deliveries of accounts with few endpoints, if no event of the account
 * waits in the fan-out queue. All other events enter the queue. New deliveries are created already claimed
 * within `limits`.
 *
 * Locks endpoints, then counters, then events, each in the order of their ids. Rejects if an endpoint stays
 * locked (`isTimedOut`), or if PostgreSQL refuses a value of an event (`isRefusedValue`).
 */
export const appendEvents = async (database: Database, options: AppendOptions): Promise<Appended> => {
  // A batch may contain an event twice. The earlier message of the two counts as repeated.
  const unique = new Map(options.events.map((event) => [event.id, event]))
  const events = [...unique.values()]
  const twice = options.events.filter((event) => unique.get(event.id) !== event)
  let written: Awaited<ReturnType<typeof writeEvents>>
  try {
    written = await database.transaction((tx) => writeEvents(tx, { ...options, events }))
  } catch (error) {
    // Another transaction has just stored one of the events. The next try finds it.
    if (violatedConstraint(error) !== 'events_pkey') throw error
    return appendEvents(database, options)
  }
  const { fresh, repeated, deliveries } = written
  const [inserted, created] = await Promise.all([written.inserted, written.created])
  const sequences = new Map(inserted.map(({ id, number }) => [id, number]))
  return {
    ...describeClaimed({ deliveries, created, sequences, now: options.now }),
    repeated: listMessages([...repeated, ...twice]),
    loggedAccountIds: listAccountIds(fresh.filter(isNumbered)),
    hasQueued: inserted.some(({ fansOutLater }) => fansOutLater),
  }
}
