import type { OpenTransaction } from '@leadwire/service-kit'

// An endpoint decides the state of its open deliveries from the moment it changes; the column `status` of their rows follows
// (`endpoints/state/sync-deliveries.ts`). So statements that show, count or find a status ask the endpoint.

/** SQL: the status of an open delivery of the endpoint that `alias` names. */
export const openAt = (alias: string) =>
  `CASE WHEN ${alias}.deleted_at IS NOT NULL THEN 'cancelled' WHEN ${alias}.enabled THEN 'pending' ELSE 'held' END`

/** SQL: the status of a delivery whose row has `status`, at the endpoint that `alias` names. */
export const shownStatus = (status: string, alias: string) =>
  `CASE WHEN ${status} IN ('pending', 'held') THEN ${openAt(alias)} ELSE ${status} END`

/** SQL: whether anything may be sent to the endpoint that `alias` names. */
export const isReceiving = (alias: string) => `(${alias}.enabled AND ${alias}.deleted_at IS NULL)`

/** SQL: the delivery has no valid claim. */
export const UNCLAIMED = '(claimed_until IS NULL OR claimed_until <= now())'

// A range of the index (endpoint_id, status, id), compared and ordered by all columns behind the first. With `status =` and
// `ORDER BY id` PostgreSQL may walk the primary key, past the deliveries of all other endpoints (seen with 30,000 deliveries).

/** SQL: the conditions and the order of an endpoint's deliveries with a status and lower ids, newest first. */
export const below = (endpoint: string, status: string, id: string) =>
  `endpoint_id = ${endpoint} AND (status, id) < (${status}, ${id}) AND status >= ${status}`
export const NEWEST_FIRST = 'ORDER BY status DESC, id DESC'

/** SQL: the conditions and the order of an endpoint's deliveries with a status and higher ids, oldest first. */
export const above = (endpoint: string, status: string, id: string) =>
  `endpoint_id = ${endpoint} AND (status, id) > (${status}, ${id}) AND status <= ${status}`
export const OLDEST_FIRST = 'ORDER BY status, id'

/** SQL: above all ids. */
export const LAST = String(Number.MAX_SAFE_INTEGER)

/**
 * Makes the statements that follow in the transaction read ranges in the order of their index. PostgreSQL plans for an endpoint
 * of average size, and would collect and sort a whole range for its first rows.
 */
export const readInOrder = (tx: OpenTransaction): void => {
  tx.send({ text: 'SET LOCAL enable_sort = off' })
  tx.send({ text: 'SET LOCAL enable_bitmapscan = off' })
}
