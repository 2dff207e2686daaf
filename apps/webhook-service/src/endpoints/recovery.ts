import type { Recovery } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { UNCLAIMED } from '../claim'
import { below, LAST, NEWEST_FIRST, readInOrder } from './delivery-ranges'

/** A count stops here. */
const COUNTED_AT_MOST = 10_000

// What an endpoint held before it was enabled is pending, though its rows may not be moved yet (`settle-endpoints.ts`). Rows only move
// from held to pending, so a recovery that reads the statuses in this order passes none over.
const UNDELIVERED = ['exhausted', 'held', 'pending']

/** The statuses of the deliveries that a recovery of each state attempts. */
export const STATUSES: Record<string, string[]> = {
  exhausted: ['exhausted'],
  undelivered: UNDELIVERED,
  all: [...UNDELIVERED, 'delivered'],
}

/** SQL: no attempt of the delivery that `alias` names is asked for, due or claimed. */
export const isWaiting = (alias: string) => `(
  ${alias}.by_hand_at IS NULL AND ${UNCLAIMED} AND (${alias}.next_attempt_at IS NULL OR ${alias}.next_attempt_at > now())
)`

/** SQL: the delivery that `alias` names has something to send. An erasure cancels all but the delivered ones. */
export const isWhole = (alias: string) => `(
  ${alias}.status <> 'delivered' OR NOT EXISTS (SELECT FROM events e WHERE e.id = ${alias}.event_id AND e.erased_at IS NOT NULL)
)`

/** SQL: whether a recovery asks for the delivery that `alias` names, and has not marked it. */
export const isAsked = (alias: string) => `EXISTS (
  SELECT FROM recoveries r WHERE r.endpoint_id = ${alias}.endpoint_id AND r.status = ${alias}.status AND ${alias}.id > r.after_id
    AND ${alias}.created_at >= r.since AND ${alias}.updated_at <= r.asked_at
)`

/**
 * SQL: how many deliveries `d` of the endpoint in $1 meet a condition, among the newest 10,000 of each status in `asked` (status, since),
 * and whether there may be more. No row where nothing is asked. The newest, because those made before `since` come last.
 */
export const countNewest = (asked: string, condition: string) => `
  SELECT min(since) AS since, least(sum(count), ${COUNTED_AT_MOST})::int AS count,
    bool_or(capped) OR sum(count) > ${COUNTED_AT_MOST} AS capped
  FROM (${asked}) asked CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE d.created_at >= asked.since AND ${condition}) AS count,
      count(*) = ${COUNTED_AT_MOST} AND bool_and(d.created_at >= asked.since) AS capped
    FROM (
      SELECT * FROM deliveries WHERE ${below('$1', 'asked.status', LAST)} ${NEWEST_FIRST} LIMIT ${COUNTED_AT_MOST}
    ) d
  ) counted
  HAVING count(*) > 0`

const REMAINING = countNewest(
  'SELECT status, min(since) AS since FROM recoveries WHERE endpoint_id = $1 GROUP BY status',
  `(d.by_hand_at IS NOT NULL OR ${isAsked('d')})`,
)

/** What is left of what is recovered at an endpoint; undefined when nothing is. */
export const recoveryOf = (database: Database, endpointId: number): Promise<Recovery | undefined> =>
  database.transaction(async (tx) => {
    readInOrder(tx)
    const query = { name: 'recovery-of-endpoint', text: REMAINING, values: [endpointId] }
    const [found] = await tx.query<{ since: string; count: number; capped: boolean }>(query)
    return found && { since: found.since, remaining: found.count, remainingCapped: found.capped }
  })
