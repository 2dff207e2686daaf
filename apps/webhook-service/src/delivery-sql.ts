import { Delivery } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'

// An endpoint decides the state of its open deliveries from the moment it changes; the column `status` of their rows follows
// (`endpoints/state/sync-deliveries.ts`). So statements that show, count or find a status ask the endpoint.

/** SQL: the status of an open delivery of the endpoint that `alias` names. */
export const openAt = (alias: string) =>
  `CASE WHEN ${alias}.deleted_at IS NOT NULL THEN 'cancelled' WHEN ${alias}.enabled THEN 'pending' ELSE 'held' END`

/** SQL: the status of a delivery whose row has `status`, at the endpoint that `alias` names. */
export const shownStatus = (status: string, alias: string) =>
  `CASE WHEN ${status} IN ('pending', 'held') THEN ${openAt(alias)} ELSE ${status} END`

/** SQL: whether the endpoint that `alias` names asks for attributes. */
export const includesAttributes = (alias: string) => `('attributes' = ANY (${alias}.include))`

/** SQL: whether the delivery `d` sends the body with attributes of the event `e` to the endpoint `p`. Kept for its retries. */
export const WITH_ATTRIBUTES = `(coalesce(d.with_attributes, ${includesAttributes('p')}) AND e.body_with_attributes IS NOT NULL)`

/** SQL: the body of the event `e` that the delivery `d` sends to the endpoint `p`. */
export const BODY = `CASE WHEN ${WITH_ATTRIBUTES} THEN e.body_with_attributes ELSE e.body END`

export const isReceiving = (alias: string) => `(${alias}.enabled AND ${alias}.deleted_at IS NULL)`

/** SQL: an instant in whole milliseconds since 1970. */
export const inMs = (instant: string) => `floor(extract(epoch FROM ${instant}) * 1000)::float8`

/** SQL: the delivery has no valid claim. */
export const UNCLAIMED = '(claimed_until IS NULL OR claimed_until <= now())'

// A range of the index (endpoint_id, status, id), compared and ordered by all columns behind the first. With `status =` and
// `ORDER BY id` PostgreSQL may walk the primary key, past the deliveries of all other endpoints (seen with 30,000 deliveries).

/** SQL: the conditions and the order of an endpoint's deliveries with a status and lower ids, newest first. */
export const below = (endpoint: string, status: string, id: string) =>
  `endpoint_id = ${endpoint} AND (status, id) < (${status}, ${id}) AND status >= ${status}`
export const NEWEST_FIRST = 'ORDER BY status DESC, id DESC'

export const LAST = String(Number.MAX_SAFE_INTEGER)

// PostgreSQL plans for an endpoint of average size, and would collect and sort a whole range for its first rows.
/** Makes the statements that follow in the transaction read ranges in the order of their index. */
export const readInOrder = (tx: OpenTransaction): void => {
  tx.send({ text: 'SET LOCAL enable_sort = off' })
  tx.send({ text: 'SET LOCAL enable_bitmapscan = off' })
}

// Keys rise with created_at: halving their range again and again finds the first row without an index that each new row would pay for.
// There are gaps, so the next row stands for a key.
/** SQL: the first key of the rows that were created at $1 or later. */
export const firstCreatedSince = (key: 'id' | 'number', table: string, condition = 'true') => `
  WITH RECURSIVE search AS (
    SELECT 1::bigint AS low,
      coalesce((SELECT ${key} FROM ${table} WHERE ${condition} ORDER BY ${key} DESC LIMIT 1), 0) + 1 AS high
    UNION ALL
    SELECT CASE WHEN r.created_at < $1 THEN r.${key} + 1 ELSE low END,
      CASE WHEN r.created_at < $1 THEN high ELSE (low + high) / 2 END
    FROM search CROSS JOIN LATERAL (
      SELECT ${key}, created_at FROM ${table} WHERE ${condition} AND ${key} >= (low + high) / 2 ORDER BY ${key} LIMIT 1
    ) r WHERE low < high
  )
  SELECT low AS first FROM search WHERE low >= high`

export const STATUSES = ['pending', 'held', 'delivered', 'exhausted', 'cancelled']

/** Statuses of deliveries that have ended; with a manual attempt to come they show as pending. */
export const ENDED = ['delivered', 'exhausted']

/** SQL: whether a manual attempt is to come, at the endpoint that `alias` names. */
export const hasManualAttempt = (alias: string) => `(manual_at IS NOT NULL AND ${isReceiving(alias)})`

/** SQL: the status of a delivery at the endpoint `p`. */
export const SHOWN = `CASE WHEN ${hasManualAttempt('p')} AND status IN ('delivered', 'exhausted') THEN 'pending'
  ELSE ${shownStatus('status', 'p')} END`

/** SQL: a column of a delivery's last attempt; NULL before the first. */
export const ofLastAttempt = (column: 'status' | 'error') =>
  `(SELECT ${column} FROM attempts WHERE delivery_id = id AND number = attempt_count)`

export const DELIVERY_COLUMNS = `
  id, endpoint_id AS "endpointId", event_id AS "eventId",
  (SELECT type FROM events WHERE events.id = event_id) AS event, lead_reference AS "leadReference",
  (SELECT ${SHOWN} FROM endpoints p WHERE p.id = endpoint_id) AS status,
  attempt_count AS "attemptCount",
  (SELECT CASE WHEN p.deleted_at IS NULL THEN least(next_attempt_at, CASE WHEN p.enabled THEN manual_at END) END
    FROM endpoints p WHERE p.id = endpoint_id) AS "nextAttemptAt",
  created_at AS "createdAt", updated_at AS "updatedAt",
  ${ofLastAttempt('status')} AS "lastStatus", ${ofLastAttempt('error')} AS "lastError"`

/** The delivery of a row with these columns. NULL is undefined in a message. */
export const deliveryOf = (row: object): Delivery => Delivery.fromPartial(row)
