import { Delivery } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'

// A delivery is open while its column `status` is pending or held. The current status of an open delivery is
// pending, held or cancelled, depending on the state of its endpoint. After a change of the endpoint, the
// column is updated with a delay (`endpoints/state/sync-deliveries.ts`). So statements that show, count or
// find a status must also read the endpoint. In this file, `alias` is the SQL alias of the endpoint's row.

/** SQL: the current status of an open delivery of an endpoint. */
export const renderOpenStatus = (alias: string) =>
  `CASE WHEN ${alias}.deleted_at IS NOT NULL THEN 'cancelled' WHEN ${alias}.enabled THEN 'pending' ELSE 'held' END`

/** SQL: the current status of a delivery. `status` is SQL for the column, which may be out of date. */
export const renderStatus = (status: string, alias: string) =>
  `CASE WHEN ${status} IN ('pending', 'held') THEN ${renderOpenStatus(alias)} ELSE ${status} END`

/** SQL: whether an endpoint receives bodies with attributes. */
export const includesAttributes = (alias: string) => `('attributes' = ANY (${alias}.include))`

/**
 * SQL: whether the delivery `d` sends the body with attributes of the event `e`. The delivery stores this
 * choice, so that its retries send the same body even if the endpoint has changed.
 */
export const WITH_ATTRIBUTES = `(d.with_attributes AND e.body_with_attributes IS NOT NULL)`

/** SQL: the body of the event `e` that the delivery `d` sends. */
export const BODY = `CASE WHEN ${WITH_ATTRIBUTES} THEN e.body_with_attributes ELSE e.body END`

/** SQL: whether an endpoint receives deliveries now. */
export const isReceiving = (alias: string) => `(${alias}.enabled AND ${alias}.deleted_at IS NULL)`

/** SQL: a time in whole milliseconds since 1970. */
export const toMs = (instant: string) => `floor(extract(epoch FROM ${instant}) * 1000)::float8`

/**
 * SQL: whether a delivery has no valid claim. `claimMs` is SQL for the length of a claim in milliseconds. If
 * PostgreSQL's clock has gone back, earlier claims end too late. A claim is therefore not valid if it ends
 * more than a minute after a new claim would end. The expression uses now(), so that all statements of a
 * transaction agree on which claims are valid.
 */
export const isUnclaimed = (claimMs: string) =>
  `(claimed_until IS NULL OR claimed_until NOT BETWEEN now() AND now() + (${claimMs} + 60000) * interval '1 ms')`

/**
 * SQL: whether a delivery belongs to `endpoint`, has `status` and has an id below `id`. Must be used with the
 * order `NEWEST_FIRST`. Both use all columns of the index (endpoint_id, status, id). With `status =` and
 * `ORDER BY id`, PostgreSQL may scan the primary key instead and read the deliveries of all other endpoints
 * (seen with 30,000 deliveries).
 */
export const isBelow = (endpoint: string, status: string, id: string) =>
  `endpoint_id = ${endpoint} AND (status, id) < (${status}, ${id}) AND status >= ${status}`
export const NEWEST_FIRST = 'ORDER BY status DESC, id DESC'

export const HIGHEST_ID = String(Number.MAX_SAFE_INTEGER)

/**
 * Makes the following statements of the transaction read ranges in the order of their index. PostgreSQL
 * assumes that each endpoint has an average number of deliveries. Without these settings, it would read and
 * sort a whole range to return its first rows.
 */
export const readInOrder = (tx: OpenTransaction): void => {
  tx.send({ text: 'SET LOCAL enable_sort = off' })
  tx.send({ text: 'SET LOCAL enable_bitmapscan = off' })
}

/**
 * SQL: the first key of the rows that were created at `:since` or later. Finds the key by binary search,
 * because keys rise with `created_at`. An index on `created_at` would slow down every insert. If a probed key
 * does not exist, the next existing key is probed.
 */
export const findFirstCreatedSince = (key: 'id' | 'number', table: string, condition = 'true') => `
  WITH RECURSIVE search AS (
    SELECT 1::bigint AS low,
      coalesce((SELECT ${key} FROM ${table} WHERE ${condition} ORDER BY ${key} DESC LIMIT 1), 0) + 1 AS high
    UNION ALL
    SELECT CASE WHEN r.created_at < :since THEN r.${key} + 1 ELSE low END,
      CASE WHEN r.created_at < :since THEN high ELSE (low + high) / 2 END
    FROM search CROSS JOIN LATERAL (
      SELECT ${key}, created_at FROM ${table}
      WHERE ${condition} AND ${key} >= (low + high) / 2 ORDER BY ${key} LIMIT 1
    ) r WHERE low < high
  )
  SELECT low AS first FROM search WHERE low >= high`

export const STATUSES = ['pending', 'held', 'delivered', 'exhausted', 'cancelled']

/**
 * The statuses of deliveries that have ended by an attempt. Such deliveries are shown as pending while a
 * manual attempt is scheduled.
 */
export const ENDED = ['delivered', 'exhausted']

/** SQL: whether a manual attempt is scheduled, and the endpoint receives deliveries now. */
export const hasManualAttempt = (alias: string) => `(manual_at IS NOT NULL AND ${isReceiving(alias)})`

/** SQL: the status to show for a delivery of the endpoint `p`. */
export const SHOWN = `CASE WHEN ${hasManualAttempt('p')} AND status IN ('delivered', 'exhausted') THEN 'pending'
  ELSE ${renderStatus('status', 'p')} END`

/** SQL: a column of a delivery's last attempt. NULL before the first attempt. */
export const selectFromLastAttempt = (column: 'status' | 'error') =>
  `(SELECT ${column} FROM attempts WHERE delivery_id = id AND number = attempt_count)`

export const DELIVERY_COLUMNS = `
  id, endpoint_id AS "endpointId", event_id AS "eventId",
  (SELECT type FROM events WHERE events.id = event_id) AS event, lead_reference AS "leadReference",
  coalesce((SELECT ${SHOWN} FROM endpoints p WHERE p.id = endpoint_id), status) AS status,
  attempt_count AS "attemptCount",
  (SELECT CASE WHEN p.deleted_at IS NULL THEN least(next_attempt_at, CASE WHEN p.enabled THEN manual_at END) END
    FROM endpoints p WHERE p.id = endpoint_id) AS "nextAttemptAt",
  created_at AS "createdAt", updated_at AS "updatedAt",
  ${selectFromLastAttempt('status')} AS "lastStatus", ${selectFromLastAttempt('error')} AS "lastError"`

/** Converts a row with `DELIVERY_COLUMNS` to a message. NULL becomes undefined. */
export const readDelivery = (row: object): Delivery => Delivery.fromPartial(row)
