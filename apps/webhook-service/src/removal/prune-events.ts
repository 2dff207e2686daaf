import { type Database, type Pruned, statement } from '@leadwire/service-kit'
import type { Dependencies } from '../operation'

/**
 * How many events one transaction reads, and how many deliveries it removes, at most. The deliveries have a
 * separate limit, because an event may have many deliveries.
 */
const BATCH = { events: 200, deliveries: 1000 }

// One process at a time prunes a schema.
const lockPruning = statement<{ locked: boolean }>('lock-pruning')`
  SELECT pg_try_advisory_xact_lock(hashtextextended('prune ' || current_schema(), 0)) AS locked`

// Uses now(), because PostgreSQL cannot limit an index search by clock_timestamp(). Skips events that an
// erasure has locked. A later run prunes these events, because each run starts an hour before the last event
// of the previous run. An even earlier start would read the index entries of removed events, which stay in
// the index until it is vacuumed.
const lockOld = statement<{ id: string; since: string }>('find-old-events')`
  SELECT id, coalesce(kept_at, created_at) AS since FROM events
  WHERE coalesce(kept_at, created_at) >= coalesce(:from::timestamptz - :overlapHours::int * interval '1 hour', '-infinity')
    AND coalesce(kept_at, created_at) < now() - :shortestMs::bigint * interval '1 ms'
  ORDER BY coalesce(kept_at, created_at) LIMIT :limit
  FOR UPDATE SKIP LOCKED`

/** SQL: how long the delivery `d` of the event `e` is kept after its end. */
const KEPT = `CASE WHEN d.status = 'exhausted' OR e.sample THEN :exhaustedMs::bigint ELSE :doneMs::bigint END
  * interval '1 ms'`
/** SQL: whether no further attempt of the delivery `d` is scheduled. */
const IS_DONE = `d.status IN ('delivered', 'cancelled', 'exhausted') AND d.manual_at IS NULL`
/** SQL: whether the delivery `d` of the event `e` may be removed. */
const IS_OLD = `${IS_DONE} AND d.updated_at < clock_timestamp() - ${KEPT}`
/**
 * SQL: whether the receipt of an erasure lists the deliveries of the event `e`. Such deliveries are never
 * removed.
 */
const IS_OF_RECEIPT = `(e.type = 'lead.erased' AND NOT e.sample)`

const deleteDeliveries = statement('delete-old-deliveries')`
  WITH old AS MATERIALIZED (
    SELECT d.id FROM events e JOIN deliveries d ON d.event_id = e.id
    WHERE e.id = ANY (:ids::uuid[]) AND NOT ${IS_OF_RECEIPT} AND ${IS_OLD}
    ORDER BY d.id LIMIT :limit
    FOR UPDATE OF d SKIP LOCKED
  ), attempts_of_old AS (
    DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM old))
  )
  DELETE FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM old)) RETURNING id`

const deleteEvents = statement<{ id: string }>('delete-old-events')`
  DELETE FROM events e
  WHERE id = ANY (:ids::uuid[]) AND NOT ${IS_OF_RECEIPT}
    AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = e.id)
    AND created_at < clock_timestamp()
      - CASE WHEN sample THEN :exhaustedMs::bigint ELSE :doneMs::bigint END * interval '1 ms'
  RETURNING id`

// Removes the event of a receipt from the log of its account, as if the event were pruned. With this
// `kept_at`, no run reads the event again.
const keepReceipts = statement('keep-receipts')`
  UPDATE events e SET number = NULL, kept_at = 'infinity'
  WHERE id = ANY (:ids::uuid[]) AND ${IS_OF_RECEIPT}
    AND created_at < clock_timestamp() - :doneMs::bigint * interval '1 ms'
    AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = e.id AND NOT (${IS_OLD}))`

// Postpones the events that cannot be removed yet. Such an event is read again as soon as its first delivery
// may be removed. If all its deliveries are open, the event is read again after the shorter retention.
const keepEvents = statement('keep-events')`
  UPDATE events SET kept_at = k.at
  FROM (
    SELECT e.id, least(clock_timestamp(), min(
      CASE WHEN d.id IS NULL OR ${IS_DONE} THEN coalesce(d.updated_at, e.created_at) + ${KEPT} END
    ) - :shortestMs::bigint * interval '1 ms') AS at
    FROM events e LEFT JOIN deliveries d ON d.event_id = e.id
    WHERE e.id = ANY (:ids::uuid[])
    GROUP BY e.id
  ) k
  WHERE events.id = k.id AND k.at >= clock_timestamp() - :shortestMs::bigint * interval '1 ms'`

// Deletes old dead letters. They are no longer needed, because the outbox reads a dead letter within minutes.
const deleteDeadLetters = statement('delete-dead-letters')`
  DELETE FROM dead_letters WHERE event_id = ANY (ARRAY (
    SELECT event_id FROM dead_letters WHERE recorded_at < now() - :keptMs::bigint * interval '1 ms'
    ORDER BY recorded_at LIMIT :limit))`

// A deleted endpoint is needed only while its deliveries can be shown. The deliveries of receipts do not need
// the endpoint, because receipts show only its id. Deleting the row also deletes its encrypted secrets and
// headers.
const deleteEndpoints = statement('delete-old-endpoints')`
  WITH old AS MATERIALIZED (
    SELECT id FROM endpoints p
    WHERE deleted_at < now() - :keptMs::bigint * interval '1 ms' AND NOT EXISTS (
      SELECT FROM deliveries d JOIN events e ON e.id = d.event_id
      WHERE d.endpoint_id = p.id AND NOT ${IS_OF_RECEIPT}
    )
    ORDER BY deleted_at LIMIT :limit
    FOR UPDATE SKIP LOCKED
  ), hours_of_old AS (
    DELETE FROM endpoint_hours WHERE endpoint_id = ANY (ARRAY (SELECT id FROM old))
  ), failures_of_old AS (
    DELETE FROM endpoint_failures WHERE endpoint_id = ANY (ARRAY (SELECT id FROM old))
  )
  DELETE FROM endpoints WHERE id = ANY (ARRAY (SELECT id FROM old))`

const readOldestAge = statement<{ age: number }>('oldest-event')`
  SELECT extract(epoch FROM clock_timestamp() - coalesce(kept_at, created_at))::float8 AS age
  FROM events WHERE coalesce(kept_at, created_at) < 'infinity' ORDER BY coalesce(kept_at, created_at) LIMIT 1`

interface Retentions {
  /** How long delivered and cancelled deliveries are kept after their end. */
  doneMs: number
  /** How long exhausted deliveries and samples are kept after their end. */
  exhaustedMs: number
}

/**
 * Creates the pruning of events and deliveries. A batch removes old deliveries with their attempts, and then
 * events and deleted endpoints that have no deliveries left. Open deliveries are never removed. The
 * deliveries of `lead.erased` are never removed either, because receipts show them.
 */
export const createPruneEvents = (
  database: Database,
  { doneMs, exhaustedMs }: Retentions,
  deleteMessages: Dependencies['deleteMessages'],
  limits = BATCH,
) => {
  const shortestMs = Math.min(doneMs, exhaustedMs)
  const longestMs = Math.max(doneMs, exhaustedMs)
  /** The time of the last event of the previous batch. */
  let from: string | null = null
  let overlapHours = 1

  const batch = async (): Promise<Pruned> => {
    const { last, ...pruned } = await database.transaction(async (tx) => {
      const [lock] = await lockPruning(tx)
      if (!lock!.locked) return { rows: 0, more: false, last: from }
      const events = await lockOld(tx, { from, shortestMs, overlapHours, limit: limits.events })
      const values = { ids: events.map(({ id }) => id), exhaustedMs, doneMs, shortestMs }
      const deliveries = await deleteDeliveries(tx, { ...values, limit: limits.deliveries })
      const removed = await deleteEvents(tx, values)
      // Deletes the .eml files now, because an erasure finds them only through their events.
      await deleteMessages(removed.map(({ id }) => id))
      keepReceipts.send(tx, values)
      keepEvents.send(tx, values)
      deleteDeadLetters.send(tx, { keptMs: exhaustedMs, limit: limits.events })
      deleteEndpoints.send(tx, { keptMs: longestMs, limit: limits.events })
      // If the limit of deliveries was reached, the next batch reads the same events again.
      const isWhole = deliveries.length < limits.deliveries
      const lastSince = isWhole ? events.at(-1)?.since : undefined
      return {
        rows: deliveries.length + removed.length,
        more: events.length === limits.events || !isWhole,
        last: lastSince ?? from,
      }
    })
    from = last
    overlapHours = pruned.more ? 0 : 1
    return pruned
  }

  const oldestAge = async (): Promise<number> => {
    const [oldest] = await readOldestAge(database)
    return oldest?.age ?? 0
  }
  return { batch, oldestAge }
}
