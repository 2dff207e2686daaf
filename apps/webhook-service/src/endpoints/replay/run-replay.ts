import { columnsByName, hasEnded, type OpenTransaction, type Round, statement } from '@leadwire/service-kit'
import { includesAttributes, isUnclaimed, readInOrder } from '../../delivery-sql'
import type { Dependencies } from '../../operation'
import { IS_WANTED, isWaiting } from './replays'

/**
 * The maximum number of a replay's attempts that wait at an endpoint. A new event of the endpoint waits
 * behind at most this many attempts.
 */
const MAX_WAITING = 100
/**
 * The time in milliseconds between two attempts. Without this pause, the backlog could overload a receiver
 * that has just recovered.
 */
const INTERVAL_MS = { recovery: 100, replay: 10 }
/** The time between two rounds of a replay. */
const ROUND_MS = 500
/** How many events one transaction reads. */
const BATCH = 5000

interface Replay {
  id: number
  accountId: number
  endpointId: number
  /** The number of the last event that the replay covers. */
  untilNumber: number
  recovers: boolean
  statuses: string[]
  /** When the replay was requested. A delivery that has changed since then is not replayed. */
  requestedAt: string
  isCounting: boolean
  countedTo: number
  replayedTo: number
}

// Locks the replay, so that one process at a time runs it. The replays of an endpoint run one after the
// other, so that several replays do not raise the rate of attempts. Counting does not wait for earlier
// replays.
const lockNextReplay = statement<Replay>('next-replay')`
  SELECT id, account_id AS "accountId", endpoint_id AS "endpointId", until_number AS "untilNumber", recovers, statuses,
    created_at AS "requestedAt", dry_run OR counted_to < until_number AS "isCounting", counted_to AS "countedTo",
    replayed_to AS "replayedTo"
  FROM replays r
  WHERE state = 'running' AND ${hasEnded('next_at')} AND (dry_run OR counted_to < until_number OR NOT EXISTS (
    SELECT FROM replays o
    WHERE o.endpoint_id = r.endpoint_id AND o.state = 'running' AND o.id < r.id AND NOT o.dry_run
  ))
  ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`

const findWaitingFanOut = statement('find-waiting-fan-out')`
  SELECT FROM fan_out_queue q JOIN events e ON e.id = q.event_id
  WHERE q.account_id = :accountId AND e.number <= :untilNumber ORDER BY q.account_id, q.id LIMIT 1`

// Does not wait for the lock, because waiting could cause a deadlock. This transaction has already locked the
// replay, but a transaction that changes an endpoint locks the endpoint first and then its replays.
const lockEndpoint = statement<{ receives: boolean }>('lock-endpoint-to-replay')`
  SELECT enabled AND deleted_at IS NULL AS receives FROM endpoints WHERE id = $1 FOR SHARE SKIP LOCKED`

// The range names all columns of the index `deliveries_open`, so that PostgreSQL uses this index (see
// `isBelow` in `delivery-sql.ts`). New deliveries of a replay join the other scheduled deliveries. So a
// replay that creates deliveries counts scheduled deliveries, too. Any other replay counts only manual
// attempts.
const countWaiting = statement<{ manual: number; due: number; last: string | null }>('attempts-waiting')`
  SELECT manual, due, greatest(last_manual, last_due) AS last
  FROM (
    SELECT count(*)::int AS manual, max(manual_at) AS last_manual FROM (
      SELECT manual_at FROM deliveries
      WHERE endpoint_id = :endpointId AND manual_at IS NOT NULL AND ${isUnclaimed(':claimMs::int')}
      ORDER BY manual_at DESC LIMIT ${MAX_WAITING}
    ) waiting
  ) m CROSS JOIN (
    SELECT count(*)::int AS due, max(next_attempt_at) AS last_due FROM (
      SELECT next_attempt_at FROM deliveries
      WHERE :createsDeliveries AND next_attempt_at IS NOT NULL AND ${isUnclaimed(':claimMs::int')}
        AND (status, endpoint_id, next_attempt_at)
          BETWEEN ('pending', :endpointId, '-infinity'::timestamptz) AND ('pending', :endpointId, :soon::timestamptz)
      ORDER BY status, endpoint_id, next_attempt_at LIMIT ${MAX_WAITING}
    ) waiting
  ) d`

const findBatchEnd = statement<{ number: number }>('find-end-of-replay-batch')`
  SELECT number FROM events WHERE account_id = :accountId AND number > :after AND number <= :untilNumber
  ORDER BY number OFFSET ${BATCH - 1} LIMIT 1`

/**
 * SQL: the events that the replay `:id` sends, with numbers from `:after` (exclusive) to `:until`, at most
 * `:limit`. An event without a delivery counts only if it was created after `:keptSince`, because the
 * delivery of an older event may have been pruned.
 */
const FOUND = `
  replay AS MATERIALIZED (
    SELECT r.*, p.events, p.leads, p.filter FROM replays r JOIN endpoints p ON p.id = r.endpoint_id WHERE r.id = :id
  ), found AS MATERIALIZED (
    SELECT f.* FROM replay r CROSS JOIN LATERAL (
      SELECT e.id AS event_id, e.number, d.id AS delivery_id
      FROM events e LEFT JOIN LATERAL (
        SELECT * FROM deliveries WHERE event_id = e.id AND endpoint_id = r.endpoint_id OFFSET 0
      ) d ON true
      WHERE e.account_id = r.account_id AND e.number > :after AND e.number <= :until AND ${IS_WANTED} AND CASE
        WHEN d.id IS NULL THEN 'missing' = ANY (r.statuses) AND e.created_at > :keptSince::timestamptz
        ELSE d.status = ANY (r.statuses) AND d.updated_at <= r.created_at AND ${isWaiting('d', ':claimMs::int')}
      END
      ORDER BY e.number LIMIT :limit::int
    ) f
  )`

const countFound = statement<{ count: number }>('count-replay')`
  WITH ${FOUND} SELECT count(*)::int AS count FROM found`

interface FoundEvent {
  eventId: string
  number: number
  /** Null if the event has no delivery at the endpoint. */
  deliveryId: number | null
}

const findEvents = statement<FoundEvent>('find-events-to-replay')`
  WITH ${FOUND} SELECT event_id AS "eventId", number, delivery_id AS "deliveryId" FROM found`

const lockEvents = statement<{ id: string; leadReference: string | null }>('lock-events-to-replay')`
  SELECT id, lead_reference AS "leadReference" FROM events
  WHERE id = ANY (:eventIds::uuid[]) AND erased_at IS NULL ORDER BY id FOR NO KEY UPDATE`

const lockDeliveries = statement<{ id: number }>('lock-deliveries-to-replay')`
  SELECT id FROM deliveries d
  WHERE id = ANY (:deliveryIds::bigint[]) AND status = ANY (:statuses::text[])
    AND updated_at <= :requestedAt::timestamptz AND ${isWaiting('d', ':claimMs::int')}
  ORDER BY id FOR UPDATE`

/**
 * SQL: when an attempt is due. New attempts follow the attempts that already wait, at regular intervals.
 */
const DUE_AT = `
  greatest(:now::timestamptz, :last::timestamptz + :intervalMs::int * interval '1 ms')
    + position * :intervalMs::int * interval '1 ms'`

const requestManualAttempts = statement('request-manual-attempts')`
  UPDATE deliveries d SET manual_at = ${DUE_AT}, updated_at = clock_timestamp()
  FROM unnest(:deliveryId::bigint[], :position::int[]) AS a (id, position) WHERE d.id = a.id`

const createDeliveries = statement('create-replayed-deliveries')`
  INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, with_attributes)
  SELECT account_id, event_id, p.id, lead_reference, 'pending', ${DUE_AT}, ${includesAttributes('p')}
  FROM unnest(:eventId::uuid[], :leadReference::uuid[], :position::int[]) AS a (event_id, lead_reference, position)
    CROSS JOIN endpoints p
  WHERE p.id = :endpointId ORDER BY position`

// Raises `fan_out`, because reconciliation compares `fan_out` with the number of an event's deliveries.
const raiseFanOuts = statement('raise-fan-outs')`
  UPDATE events SET fan_out = fan_out + 1 WHERE id = ANY (:eventId::uuid[])`

const endReplay = statement('end-replay')`
  UPDATE replays SET state = :state, ended_at = clock_timestamp() WHERE id = :id`

const postpone = statement('postpone-replay')`
  UPDATE replays SET next_at = clock_timestamp() + ${ROUND_MS} * interval '1 ms' WHERE id = :id`

const advanceCount = statement('advance-count')`
  UPDATE replays SET matched = matched + :count, counted_to = coalesce(:doneTo::bigint, until_number),
    next_at = clock_timestamp(),
    state = CASE WHEN dry_run AND :doneTo IS NULL THEN 'counted' ELSE state END,
    ended_at = CASE WHEN dry_run AND :doneTo IS NULL THEN clock_timestamp() END
  WHERE id = :id`

const advance = statement('advance-replay')`
  UPDATE replays SET enqueued = enqueued + :enqueued, replayed_to = coalesce(:doneTo::bigint, until_number),
    next_at = clock_timestamp() + :waitMs * interval '1 ms'
  WHERE id = :id`

/** The values that all statements of a round share. */
interface Limits {
  now: Date
  /** An event without a delivery is replayed only if it was created after this time. */
  keptSince: Date | '-infinity'
  claimMs: number
}

/**
 * Returns the number of the last event of the next batch, or null if the batch reaches the end of the replay.
 */
const readBatchEnd = async (
  tx: OpenTransaction,
  { accountId, untilNumber }: Replay,
  after: number,
): Promise<number | null> => {
  const [end] = await findBatchEnd(tx, { accountId, after, untilNumber })
  return end?.number ?? null
}

const countBatch = async (tx: OpenTransaction, replay: Replay, limits: Limits): Promise<void> => {
  const { id, countedTo: after, untilNumber } = replay
  const end = await readBatchEnd(tx, replay, after)
  const range = { id, after, until: end ?? untilNumber, limit: null }
  const [counted] = await countFound(tx, { ...range, ...limits })
  advanceCount.send(tx, { id, count: counted!.count, doneTo: end })
}

/**
 * Locks the events first and then the deliveries, each in the order of their ids, as an erasure does. Returns
 * the events that can still be sent, in the order of the log.
 */
const lockFound = async (tx: OpenTransaction, replay: Replay, found: FoundEvent[], claimMs: number) => {
  const { statuses, requestedAt } = replay
  const deliveryIds = found.flatMap(({ deliveryId }) => deliveryId ?? [])
  const [events, deliveries] = await Promise.all([
    lockEvents(tx, { eventIds: found.map(({ eventId }) => eventId) }),
    lockDeliveries(tx, { deliveryIds, statuses, requestedAt, claimMs }),
  ])
  const eventsById = new Map(events.map((event) => [event.id, event]))
  const lockedIds = new Set(deliveries.map(({ id }) => id))
  return found
    .toSorted((a, b) => a.number - b.number)
    .filter(({ eventId }) => eventsById.has(eventId))
    .filter(({ deliveryId }) => deliveryId === null || lockedIds.has(deliveryId))
    .map((event, position) => ({
      ...event,
      position,
      leadReference: eventsById.get(event.eventId)!.leadReference,
    }))
}

/**
 * Requests attempts for the next events of a replay, at most `room`. `enqueued` is how many attempts were
 * requested. `doneTo` is the number of the event up to which the replay is done. It is null at the end of the
 * replay.
 */
const enqueueBatch = async (
  tx: OpenTransaction,
  replay: Replay,
  { room, last, ...limits }: Limits & { room: number; last: string | null },
): Promise<{ enqueued: number; doneTo: number | null }> => {
  const { id, endpointId, untilNumber, recovers, replayedTo: after } = replay
  if (after >= untilNumber) return { enqueued: 0, doneTo: null }
  const end = await readBatchEnd(tx, replay, after)
  const range = { id, after, until: end ?? untilNumber, limit: room }
  const found = await findEvents(tx, { ...range, ...limits })
  const sent = await lockFound(tx, replay, found, limits.claimMs)

  const schedule = { now: limits.now, last, intervalMs: recovers ? INTERVAL_MS.recovery : INTERVAL_MS.replay }
  const existing = sent.filter(({ deliveryId }) => deliveryId !== null)
  requestManualAttempts.send(tx, { ...schedule, ...columnsByName(existing, 'deliveryId', 'position') })
  const missing = sent.filter(({ deliveryId }) => deliveryId === null)
  const created = columnsByName(missing, 'eventId', 'leadReference', 'position')
  createDeliveries.send(tx, { ...schedule, endpointId, ...created })
  raiseFanOuts.send(tx, created)

  const isFull = found.length === room
  return { enqueued: sent.length, doneTo: isFull ? Math.max(...found.map(({ number }) => number)) : end }
}

/**
 * Requests attempts for the next events of a replay, until `MAX_WAITING` attempts wait at the endpoint. Ends
 * the replay when all its events are done and no manual attempt waits.
 */
const replayBatch = async (tx: OpenTransaction, replay: Replay, limits: Limits): Promise<void> => {
  const { id, endpointId, statuses, replayedTo } = replay
  const createsDeliveries = statuses.includes('missing')
  const soon = new Date(limits.now.getTime() + MAX_WAITING * INTERVAL_MS.replay)
  const { claimMs } = limits
  const [waiting] = await countWaiting(tx, { endpointId, createsDeliveries, soon, claimMs })
  const { manual, due, last } = waiting!
  const room = MAX_WAITING - manual - due
  if (room <= 0) {
    advance.send(tx, { id, enqueued: 0, doneTo: replayedTo, waitMs: ROUND_MS })
    return
  }
  const { enqueued, doneTo } = await enqueueBatch(tx, replay, { ...limits, room, last })
  const isOver = doneTo === null
  if (isOver && enqueued === 0 && manual === 0) {
    endReplay.send(tx, { id, state: 'done' })
    return
  }
  advance.send(tx, { id, enqueued, doneTo, waitMs: isOver || enqueued > 0 ? ROUND_MS : 0 })
}

/**
 * Runs one round of a replay: counts its next events, or requests attempts for them. If an event has a
 * delivery, the round requests a manual attempt. Otherwise the round creates a delivery. The new attempts are
 * due after the attempts that already wait at the endpoint, in the order of the log. Any process may run a
 * round, and may be killed at any moment. Resolves with whether there may be more to do.
 */
export const runReplay = ({ database, clock, keptMs, claimMs: claims }: Dependencies): Promise<Round> =>
  database.transaction(async (tx) => {
    const [replay] = await lockNextReplay(tx)
    if (!replay) return false
    const { id, accountId, endpointId, untilNumber, isCounting } = replay
    // Waits for the fan-outs of these events. The fan-outs will create the missing deliveries, so the replay
    // must not create them.
    const waitingFanOuts = await findWaitingFanOut(tx, { accountId, untilNumber })
    if (waitingFanOuts.length > 0) {
      postpone.send(tx, { id })
      return true
    }
    const [endpoint] = await lockEndpoint(tx, endpointId)
    if (!endpoint) return 'pause'
    if (!endpoint.receives) {
      endReplay.send(tx, { id, state: 'cancelled' })
      return true
    }
    readInOrder(tx)
    const now = clock.now()
    const keptSince = Number.isFinite(keptMs) ? new Date(now.getTime() - keptMs) : '-infinity'
    const limits = { now, keptSince, claimMs: claims.webhooks } as const
    if (isCounting) {
      await countBatch(tx, replay, limits)
      return true
    }
    await replayBatch(tx, replay, limits)
    return true
  })
