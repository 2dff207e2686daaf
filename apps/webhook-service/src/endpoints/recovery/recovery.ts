import type { Recovery } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { below, LAST, NEWEST_FIRST, readInOrder, UNCLAIMED } from '../../delivery-sql'
import { statement } from '../../statement'

/** Counts stop here. */
const MAX_COUNT = 10_000

// An endpoint that was enabled may still have held deliveries out of sync. They only move from held to pending, so a recovery that
// reads the statuses in this order misses none.
const UNDELIVERED = ['exhausted', 'held', 'pending']

/** The statuses of the deliveries that a recovery of each state attempts. */
export const STATUSES: Record<string, string[]> = {
  exhausted: ['exhausted'],
  undelivered: UNDELIVERED,
  all: [...UNDELIVERED, 'delivered'],
}

/** SQL: the delivery that `alias` names has no manual attempt, is not due and not claimed. */
export const isWaiting = (alias: string) => `(
  ${alias}.manual_at IS NULL AND ${UNCLAIMED} AND (${alias}.next_attempt_at IS NULL OR ${alias}.next_attempt_at > now())
)`

/** SQL: the delivery that `alias` names has something to send. An erasure cancels all but the delivered ones. */
export const isWhole = (alias: string) => `(
  ${alias}.status <> 'delivered' OR NOT EXISTS (SELECT FROM events e WHERE e.id = ${alias}.event_id AND e.erased_at IS NOT NULL)
)`

/** SQL: a recovery includes the delivery that `alias` names, and has not reached it. */
export const isRequested = (alias: string) => `EXISTS (
  SELECT FROM recoveries r WHERE r.endpoint_id = ${alias}.endpoint_id AND r.status = ${alias}.status AND ${alias}.id > r.after_id
    AND ${alias}.created_at >= r.since AND ${alias}.updated_at <= r.requested_at
)`

/**
 * Counts how many deliveries `d` of the endpoint $1 meet a condition, among the newest 10,000 of each status in `requested`
 * (status, since), and whether there may be more. No row without a request.
 */
export const countNewest = (name: string, requested: string, condition: string) =>
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

const remaining = countNewest(
  'recovery-of-endpoint',
  'SELECT status, min(since) AS since FROM recoveries WHERE endpoint_id = $1 GROUP BY status',
  `(d.manual_at IS NOT NULL OR ${isRequested('d')})`,
)

/** What remains to be recovered at an endpoint, if anything. */
export const recoveryOf = (database: Database, endpointId: number): Promise<Recovery | undefined> =>
  database.transaction(async (tx) => {
    readInOrder(tx)
    const [found] = await remaining(tx, endpointId)
    return found && { since: found.since, remaining: found.count, remainingCapped: found.capped }
  })
