import type { Recovery } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import type { Clock } from '../../clock'
import { above, below, LAST, NEWEST_FIRST, OLDEST_FIRST, readInOrder, UNCLAIMED } from '../../delivery-sql'
import { statement } from '../../statement'

const MAX_COUNT = 10_000
/** A receiver that has just come back must not be overloaded by its own backlog. */
const INTERVAL_MS = 100
/** Manual attempts that wait at an endpoint at most: those of ten seconds. */
const MAX_WAITING = 100
/** Deliveries that one transaction reads. */
const BATCH = 5000

// Held deliveries that are out of sync only move to pending, so a recovery that reads the statuses in this order misses none.
const UNDELIVERED = ['exhausted', 'held', 'pending']

export const STATUSES: Record<string, string[]> = {
  exhausted: ['exhausted'],
  undelivered: UNDELIVERED,
  all: [...UNDELIVERED, 'delivered'],
}

/** SQL: the delivery that `alias` names has no manual attempt, is not due and not claimed. */
const isWaiting = (alias: string) => `(
  ${alias}.manual_at IS NULL AND ${UNCLAIMED} AND (${alias}.next_attempt_at IS NULL OR ${alias}.next_attempt_at > now())
)`

/** SQL: the delivery d has something to send. An erasure cancels all but the delivered ones. */
const IS_WHOLE = `(
  d.status <> 'delivered' OR NOT EXISTS (SELECT FROM events e WHERE e.id = d.event_id AND e.erased_at IS NOT NULL)
)`

/** SQL: a recovery includes the delivery d, and has not reached it. */
const IS_REQUESTED = `EXISTS (
  SELECT FROM recoveries r WHERE r.endpoint_id = d.endpoint_id AND r.status = d.status AND d.id > r.after_id
    AND d.created_at >= r.since AND d.updated_at <= r.requested_at
)`

/** How many deliveries `d` of the endpoint $1 meet a condition, of the newest 10,000 of each status in `requested` (status, since). */
const countNewest = (name: string, requested: string, condition: string) =>
  statement<{ since: string; count: number; capped: boolean }>(name)`
  SELECT min(since) AS since, least(sum(count), ${MAX_COUNT})::int AS count,
    bool_or(capped) OR sum(count) > ${MAX_COUNT} AS capped
  FROM (${requested}) requested CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE d.created_at >= requested.since AND ${condition}) AS count,
      count(*) = ${MAX_COUNT} AND bool_and(d.created_at >= requested.since) AS capped
    FROM (
      SELECT * FROM deliveries WHERE ${below('$1', 'requested.status', LAST)} ${NEWEST_FIRST} LIMIT ${MAX_COUNT}
    ) d
  ) counted
  HAVING count(*) > 0`

/** Counts what a recovery of the statuses $2 since $3 would attempt. */
export const countToRecover = countNewest(
  'count-to-recover',
  'SELECT status, $3::timestamptz AS since FROM unnest($2::text[]) AS status',
  `${isWaiting('d')} AND ${IS_WHOLE} AND NOT ${IS_REQUESTED}`,
)

const remaining = countNewest(
  'recovery-of-endpoint',
  'SELECT status, min(since) AS since FROM recoveries WHERE endpoint_id = $1 GROUP BY status',
  `(d.manual_at IS NOT NULL OR ${IS_REQUESTED})`,
)

export const recoveryOf = (database: Database, endpointId: number): Promise<Recovery | undefined> =>
  database.transaction(async (tx) => {
    readInOrder(tx)
    const [found] = await remaining(tx, endpointId)
    return found && { since: found.since, remaining: found.count, remainingCapped: found.capped }
  })

interface Row {
  id: number
  endpoint_id: number
  status: string
  since: string
  requested_at: string
  after_id: number
}

// One process at a time, and one recovery of an endpoint: so further requests do not raise the pace.
const nextRecovery = statement<Row>('next-recovery')`
  SELECT id, endpoint_id, status, since, requested_at, after_id FROM recoveries r
  WHERE next_at <= clock_timestamp()
    AND NOT EXISTS (SELECT FROM recoveries o WHERE o.endpoint_id = r.endpoint_id AND o.id < r.id)
  ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`

const manualAttempts = statement<{ count: number; last: string | null }>('manual-attempts-waiting')`
  SELECT count(*)::int AS count, max(manual_at) AS last FROM (
    SELECT manual_at FROM deliveries WHERE endpoint_id = $1 AND manual_at IS NOT NULL AND ${UNCLAIMED}
    ORDER BY manual_at DESC LIMIT ${MAX_WAITING}
  ) waiting`

// Locked in the order of ids, as by every statement that waits for locks of many deliveries.
const mark = statement<{ chosen: number; last: number | null }>('mark-to-recover')`
  WITH scanned AS MATERIALIZED (
    SELECT * FROM deliveries WHERE ${above('$1', '$8::text', '$2::bigint')} ${OLDEST_FIRST} LIMIT ${BATCH}
  ), chosen AS MATERIALIZED (
    SELECT id FROM scanned s WHERE created_at >= $3 AND updated_at <= $4 AND ${isWaiting('s')} ORDER BY id LIMIT $5
  ), locked AS MATERIALIZED (
    SELECT id FROM deliveries d WHERE id = ANY (ARRAY (SELECT id FROM chosen))
      AND status = $8 AND updated_at <= $4 AND ${isWaiting('d')} AND ${IS_WHOLE} ORDER BY id FOR UPDATE
  ), marked AS (
    UPDATE deliveries d SET
      manual_at = greatest($6::timestamptz, $7::timestamptz + ${INTERVAL_MS} * interval '1 ms')
        + (place - 1) * ${INTERVAL_MS} * interval '1 ms',
      updated_at = clock_timestamp()
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM locked) l WHERE d.id = l.id
  )
  SELECT (SELECT count(*) FROM chosen)::int AS chosen, CASE WHEN (SELECT count(*) FROM chosen) = $5
    THEN (SELECT max(id) FROM chosen) ELSE (SELECT max(id) FROM scanned) END AS last`

const endRecovery = statement('end-recovery')`DELETE FROM recoveries WHERE id = $1`

const advance = statement('advance-recovery')`
  UPDATE recoveries SET after_id = $2, next_at = clock_timestamp() + $3 * interval '1 ms' WHERE id = $1`

/**
 * Marks the next deliveries of a recovery for a manual attempt: ten a second at each endpoint, the oldest of each status first, behind
 * earlier requests. Any process may do so and stop at any moment. Resolves with whether there may be more.
 */
export const runRecovery = (database: Database, { clock }: { clock: Clock }): Promise<boolean> =>
  database.transaction(async (tx) => {
    const [recovery] = await nextRecovery(tx)
    if (!recovery) return false
    const { id, endpoint_id: endpointId, after_id: afterId, since, requested_at, status } = recovery
    const [waiting] = await manualAttempts(tx, endpointId)
    const room = MAX_WAITING - waiting!.count
    let [chosen, last]: [number, number | null] = [0, afterId]
    if (room > 0) {
      readInOrder(tx)
      const values = [endpointId, afterId, since, requested_at, room, clock.now(), waiting!.last, status]
      const [marked] = await mark(tx, ...values)
      ;({ chosen, last } = marked!)
    }
    // With nothing left to read, the recovery ends when the last of its attempts was made.
    if (last === null && waiting!.count === 0) endRecovery.send(tx, id)
    else advance.send(tx, id, last ?? afterId, chosen > 0 || last === null || last === afterId ? 1000 : 0)
    return true
  })
