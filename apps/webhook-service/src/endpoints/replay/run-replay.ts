import { type Round, statement } from '@leadwire/service-kit'
import { includesAttributes, readInOrder, UNCLAIMED } from '../../delivery-sql'
import type { Dependencies } from '../../operation'
import { IS_WANTED, isWaiting } from './replays'

/** Attempts of a replay that wait at an endpoint at most: its new events wait for no more. */
const MAX_WAITING = 100
/** Between two attempts. A receiver that has just come back must not be overloaded by its own backlog. */
const INTERVAL_MS = { recovery: 100, replay: 10 }
const ROUND_MS = 500
/** Events that one transaction reads. */
const BATCH = 5000

interface Replay {
  id: number
  endpointId: number
  recovers: boolean
  /** Whether it may make deliveries. */
  makes: boolean
  counting: boolean
  countedTo: number
  replayedTo: number
}

// Of copies of the release before. Each of its rows recovers the deliveries of one status.
const adoptRecoveries = statement('adopt-recoveries')`
  WITH old AS (
    DELETE FROM recoveries WHERE id = ANY (ARRAY (SELECT id FROM recoveries ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED))
    RETURNING endpoint_id, status, since, requested_at
  ), adopted AS (
    SELECT o.*, p.account_id, coalesce((SELECT last FROM public.event_counters c WHERE c.account_id = p.account_id), 0) AS last
    FROM old o JOIN endpoints p ON p.id = o.endpoint_id
  )
  INSERT INTO replays (account_id, endpoint_id, recovers, statuses, since, until_number, counted_to, replayed_to, matched_capped, created_at)
  SELECT account_id, endpoint_id, true, ARRAY[status], since, last, last, 0, true, requested_at FROM adopted`

// One process at a time, and one replay of an endpoint: so further requests do not raise the pace. Counting waits for none.
const nextReplay = statement<Replay>('next-replay')`
  SELECT id, endpoint_id AS "endpointId", recovers, 'missing' = ANY (statuses) AS makes,
    dry_run OR counted_to < until_number AS counting, counted_to AS "countedTo", replayed_to AS "replayedTo"
  FROM replays r
  WHERE state = 'running' AND next_at <= clock_timestamp() AND (dry_run OR counted_to < until_number OR NOT EXISTS (
    SELECT FROM replays o WHERE o.endpoint_id = r.endpoint_id AND o.state = 'running' AND o.id < r.id AND NOT o.dry_run
  ))
  ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`

// Never waited for: who changes an endpoint locks it first, and then waits for its replays.
const lockUnchanging = statement<{ receives: boolean }>('lock-endpoint-to-replay')`
  SELECT enabled AND deleted_at IS NULL AS receives FROM endpoints WHERE id = $1 FOR SHARE SKIP LOCKED`

/** SQL: of the next events behind $2, those that the replay $1 sends, $3 at most. What is older than $4 may have had a delivery. */
const FOUND = `
  asked AS MATERIALIZED (
    SELECT r.*, p.events, p.leads, p.filter, p.include, (
      SELECT number FROM events WHERE account_id = r.account_id AND number > $2::bigint AND number <= r.until_number
      ORDER BY number OFFSET ${BATCH - 1} LIMIT 1
    ) AS batch_end
    FROM replays r JOIN endpoints p ON p.id = r.endpoint_id WHERE r.id = $1
  ), found AS MATERIALIZED (
    SELECT f.* FROM asked r CROSS JOIN LATERAL (
      SELECT e.id AS event_id, e.number, d.id AS delivery_id
      FROM events e LEFT JOIN LATERAL (
        SELECT * FROM deliveries WHERE event_id = e.id AND endpoint_id = r.endpoint_id OFFSET 0
      ) d ON true
      WHERE e.account_id = r.account_id AND e.number > $2 AND e.number <= coalesce(r.batch_end, r.until_number)
        AND ${IS_WANTED} AND CASE
          WHEN d.id IS NULL THEN 'missing' = ANY (r.statuses) AND e.created_at > $4::timestamptz
          ELSE d.status = ANY (r.statuses) AND d.updated_at <= r.created_at AND ${isWaiting('d')}
        END
      ORDER BY e.number LIMIT $3::int
    ) f
  )`

/** SQL: the number up to which events are done; NULL behind the last. */
const DONE_TO = `CASE WHEN (SELECT count(*) FROM found) = $3 THEN (SELECT max(number) FROM found) ELSE (SELECT batch_end FROM asked) END`

const count = statement<{ count: number; last: number | null }>('count-replay')`
  WITH ${FOUND} SELECT (SELECT count(*) FROM found)::int AS count, ${DONE_TO} AS last`

// Deliveries that are made wait among the scheduled ones. Their range has all columns of its index (see `delivery-sql.ts`).
const waitingAt = statement<{ manual: number; due: number; last: string | null }>('attempts-waiting')`
  SELECT manual, due, greatest(last_manual, last_due) AS last
  FROM (
    SELECT count(*)::int AS manual, max(manual_at) AS last_manual FROM (
      SELECT manual_at FROM deliveries WHERE endpoint_id = $1 AND manual_at IS NOT NULL AND ${UNCLAIMED}
      ORDER BY manual_at DESC LIMIT ${MAX_WAITING}
    ) waiting
  ) m CROSS JOIN (
    SELECT count(*)::int AS due, max(next_attempt_at) AS last_due FROM (
      SELECT next_attempt_at FROM deliveries
      WHERE $2 AND next_attempt_at IS NOT NULL AND ${UNCLAIMED}
        AND (status, endpoint_id, next_attempt_at) BETWEEN ('pending', $1, '-infinity'::timestamptz) AND ('pending', $1, $3::timestamptz)
      ORDER BY status, endpoint_id, next_attempt_at LIMIT ${MAX_WAITING}
    ) waiting
  ) d`

// Events before deliveries, as an erasure locks them, and each in the order of ids. Reconciliation compares an event's deliveries with
// `fan_out`.
const enqueue = statement<{ enqueued: number; last: number | null }>('enqueue-replay')`
  WITH ${FOUND}, whole AS MATERIALIZED (
    SELECT id, lead_reference FROM events e WHERE id = ANY (ARRAY (SELECT event_id FROM found)) AND erased_at IS NULL
    ORDER BY id FOR NO KEY UPDATE
  ), locked AS MATERIALIZED (
    SELECT d.id FROM deliveries d WHERE d.id = ANY (ARRAY (SELECT delivery_id FROM found JOIN whole w ON w.id = event_id))
      AND d.status = ANY (ARRAY (SELECT unnest(statuses) FROM asked)) AND d.updated_at <= (SELECT created_at FROM asked)
      AND ${isWaiting('d')}
    ORDER BY d.id FOR UPDATE
  ), placed AS MATERIALIZED (
    SELECT event_id, delivery_id, lead_reference, number, greatest($5::timestamptz, $6::timestamptz + $7::int * interval '1 ms')
      + (row_number() OVER (ORDER BY number) - 1) * $7::int * interval '1 ms' AS at
    FROM found JOIN whole w ON w.id = event_id WHERE delivery_id IS NULL OR delivery_id IN (SELECT id FROM locked)
  ), marked AS (
    UPDATE deliveries d SET manual_at = at, updated_at = clock_timestamp() FROM placed p WHERE d.id = p.delivery_id
  ), made AS (
    INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, with_attributes)
    SELECT account_id, event_id, endpoint_id, lead_reference, 'pending', at, ${includesAttributes('asked')}
    FROM placed CROSS JOIN asked WHERE delivery_id IS NULL ORDER BY number
    RETURNING event_id
  ), fanned_out AS (
    UPDATE events SET fan_out = fan_out + 1 WHERE id = ANY (ARRAY (SELECT event_id FROM made))
  )
  SELECT (SELECT count(*) FROM placed)::int AS enqueued, ${DONE_TO} AS last`

const endReplay = statement('end-replay')`
  UPDATE replays SET state = $2, ended_at = clock_timestamp() WHERE id = $1`

const advanceCount = statement('advance-count')`
  UPDATE replays SET matched = matched + $2, counted_to = coalesce($3::bigint, until_number), next_at = clock_timestamp(),
    state = CASE WHEN dry_run AND $3 IS NULL THEN 'counted' ELSE state END,
    ended_at = CASE WHEN dry_run AND $3 IS NULL THEN clock_timestamp() END
  WHERE id = $1`

const advance = statement('advance-replay')`
  UPDATE replays SET enqueued = enqueued + $2, replayed_to = coalesce($3::bigint, until_number),
    next_at = clock_timestamp() + $4 * interval '1 ms' WHERE id = $1`

/**
 * Counts the next events of a replay, or requests attempts of them: a manual one where a delivery exists, else the first of a new
 * delivery. They are placed behind those that wait at the endpoint, in the order of the log. Any process may do so and stop at any
 * moment. Resolves with whether there may be more.
 */
export const runReplay = ({ database, clock, keptMs }: Dependencies): Promise<Round> =>
  database.transaction(async (tx) => {
    await adoptRecoveries(tx)
    const [replay] = await nextReplay(tx)
    if (!replay) return false
    const { id, endpointId, recovers, makes, counting, countedTo, replayedTo } = replay
    const [endpoint] = await lockUnchanging(tx, endpointId)
    if (!endpoint) return 'pause'
    if (!endpoint.receives) {
      endReplay.send(tx, id, 'cancelled')
      return true
    }
    readInOrder(tx)
    const now = clock.now().getTime()
    const keptSince = Number.isFinite(keptMs) ? new Date(now - keptMs) : '-infinity'
    if (counting) {
      const [counted] = await count(tx, id, countedTo, null, keptSince)
      advanceCount.send(tx, id, counted!.count, counted!.last)
      return true
    }
    const soon = new Date(now + MAX_WAITING * INTERVAL_MS.replay)
    const [waiting] = await waitingAt(tx, endpointId, makes, soon)
    const { manual, due, last } = waiting!
    const room = MAX_WAITING - manual - due
    if (room <= 0) {
      advance.send(tx, id, 0, replayedTo, ROUND_MS)
      return true
    }
    const intervalMs = recovers ? INTERVAL_MS.recovery : INTERVAL_MS.replay
    const values = [id, replayedTo, room, keptSince, new Date(now), last, intervalMs]
    const [done] = await enqueue(tx, ...values)
    const isOver = done!.last === null
    // It ends when the last of its manual attempts was made.
    if (isOver && done!.enqueued === 0 && manual === 0) endReplay.send(tx, id, 'done')
    else advance.send(tx, id, done!.enqueued, done!.last, isOver || done!.enqueued > 0 ? ROUND_MS : 0)
    return true
  })
