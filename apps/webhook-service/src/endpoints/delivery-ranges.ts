import type { OpenTransaction } from '@leadwire/service-kit'

// A range of an index is bounded by rows, and ordered by all columns behind the first. Where `status` were compared with = and only
// `id` ordered by, PostgreSQL might walk the primary key instead, past the deliveries of all others: seen with 30,000 of an
// endpoint.

/** SQL: the conditions and the order of an endpoint's rows with a status and lower ids, the newest first. */
export const below = (endpoint: string, status: string, id: string) =>
  `endpoint_id = ${endpoint} AND (status, id) < (${status}, ${id}) AND status >= ${status}`
export const NEWEST_FIRST = 'ORDER BY status DESC, id DESC'

/** SQL: the conditions and the order of an endpoint's rows with a status and higher ids, the oldest first. */
export const above = (endpoint: string, status: string, id: string) =>
  `endpoint_id = ${endpoint} AND (status, id) > (${status}, ${id}) AND status <= ${status}`
export const OLDEST_FIRST = 'ORDER BY status, id'

/** SQL: above all ids. */
export const LAST = String(Number.MAX_SAFE_INTEGER)

/**
 * Has the statements that follow in the transaction read ranges in the order of their index. PostgreSQL believes a range of rows to be
 * small, or plans for an endpoint of a usual size, and would collect and sort all of it for its first rows.
 */
export const readInOrder = (tx: OpenTransaction): void => {
  tx.send({ text: 'SET LOCAL enable_sort = off' })
  tx.send({ text: 'SET LOCAL enable_bitmapscan = off' })
}
