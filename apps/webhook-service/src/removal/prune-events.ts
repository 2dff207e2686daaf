import { type Database, type Pruned, statement } from '@leadwire/service-kit'
import type { Dependencies } from '../operation'

/** Events that one transaction reads, and deliveries that it removes. An event may have a hundred. */
const BATCH = { events: 200, deliveries: 1000 }

// One process at a time, in each schema.
const lockPruning = statement<{ locked: boolean }>('lock-pruning')`
  SELECT pg_try_advisory_xact_lock(hashtextextended('prune ' || current_schema(), 0)) AS locked`

// By now(): PostgreSQL does not end an index search by clock_timestamp(). Events that an erasure has locked are skipped until the next
// run, which starts an hour before the last event of this one: the index has entries of removed events until it is vacuumed.
const findOld = statement<{ id: string; since: string }>('find-old-events')`
  SELECT id, coalesce(kept_at, created_at) AS since FROM events
  WHERE coalesce(kept_at, created_at) >= coalesce($1::timestamptz - $4::int * interval '1 hour', '-infinity')
    AND coalesce(kept_at, created_at) < now() - $2::bigint * interval '1 ms'
  ORDER BY coalesce(kept_at, created_at) LIMIT $3
  FOR UPDATE SKIP LOCKED`

/** How long a delivery d of an event e is kept. */
const KEPT = `CASE WHEN d.status = 'exhausted' OR e.sample THEN $2::bigint ELSE $3::bigint END * interval '1 ms'`
/** A delivery that no attempt will change. */
const IS_DONE = `d.status IN ('delivered', 'cancelled', 'exhausted') AND d.manual_at IS NULL`

const deleteDeliveries = statement('delete-old-deliveries')`
  WITH old AS MATERIALIZED (
    SELECT d.id FROM events e JOIN deliveries d ON d.event_id = e.id
    WHERE e.id = ANY ($1::uuid[]) AND ${IS_DONE} AND d.updated_at < clock_timestamp() - ${KEPT}
    ORDER BY d.id LIMIT $4
    FOR UPDATE OF d SKIP LOCKED
  ), attempts_of_old AS (
    DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM old))
  )
  DELETE FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM old)) RETURNING id`

const deleteEvents = statement<{ id: string }>('delete-old-events')`
  DELETE FROM events e
  WHERE id = ANY ($1::uuid[]) AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = e.id)
    AND created_at < clock_timestamp() - CASE WHEN sample THEN $2::bigint ELSE $3::bigint END * interval '1 ms'
  RETURNING id`

// An event that stays is read again when its first delivery may be removed: once in the shortest of the retentions, as long as one is
// open or may be delivered by a manual attempt.
const keepEvents = statement('keep-events')`
  UPDATE events SET kept_at = k.at
  FROM (
    SELECT e.id, least(clock_timestamp(), min(
      CASE WHEN d.id IS NULL OR ${IS_DONE} THEN coalesce(d.updated_at, e.created_at) + ${KEPT} END
    ) - $4::bigint * interval '1 ms') AS at
    FROM events e LEFT JOIN deliveries d ON d.event_id = e.id
    WHERE e.id = ANY ($1::uuid[])
    GROUP BY e.id
  ) k
  WHERE events.id = k.id AND k.at >= clock_timestamp() - $4::bigint * interval '1 ms'`

// The outbox has read them long before.
const deleteDeadLetters = statement('delete-dead-letters')`
  DELETE FROM dead_letters WHERE event_id = ANY (ARRAY (
    SELECT event_id FROM dead_letters WHERE recorded_at < now() - $1::bigint * interval '1 ms'
    ORDER BY recorded_at LIMIT $2))`

// Nothing shows a deleted endpoint but its deliveries. With it go its sealed secrets and headers.
const deleteEndpoints = statement('delete-old-endpoints')`
  WITH old AS MATERIALIZED (
    SELECT id FROM endpoints p
    WHERE deleted_at < now() - $1::bigint * interval '1 ms' AND NOT EXISTS (SELECT FROM deliveries WHERE endpoint_id = p.id)
    ORDER BY deleted_at LIMIT $2
    FOR UPDATE SKIP LOCKED
  ), hours_of_old AS (
    DELETE FROM endpoint_hours WHERE endpoint_id = ANY (ARRAY (SELECT id FROM old))
  ), failures_of_old AS (
    DELETE FROM endpoint_failures WHERE endpoint_id = ANY (ARRAY (SELECT id FROM old))
  )
  DELETE FROM endpoints WHERE id = ANY (ARRAY (SELECT id FROM old))`

const ageOfOldest = statement<{ age: number }>('oldest-event')`
  SELECT extract(epoch FROM clock_timestamp() - coalesce(kept_at, created_at))::float8 AS age
  FROM events ORDER BY coalesce(kept_at, created_at) LIMIT 1`

/** `batch` removes old deliveries with their attempts, and events and deleted endpoints without any. Open deliveries stay. */
export const createPruneEvents = (
  database: Database,
  // How long deliveries are kept once they are done: delivered and cancelled ones; exhausted ones and those of samples.
  { doneMs, exhaustedMs }: { doneMs: number; exhaustedMs: number },
  deleteMessages: Dependencies['deleteMessages'],
  limits = BATCH,
) => {
  const firstMs = Math.min(doneMs, exhaustedMs)
  let from: string | null = null
  let overlapHours = 1

  const batch = async (): Promise<Pruned> => {
    const { last, ...pruned } = await database.transaction(async (tx) => {
      const [lock] = await lockPruning(tx)
      if (!lock!.locked) return { rows: 0, more: false, last: from }
      const events = await findOld(tx, from, firstMs, limits.events, overlapHours)
      const given = [events.map(({ id }) => id), exhaustedMs, doneMs]
      const deliveries = await deleteDeliveries(tx, ...given, limits.deliveries)
      const removed = await deleteEvents(tx, ...given)
      // Without its event no erasure finds a message.
      await deleteMessages(removed.map(({ id }) => id))
      keepEvents.send(tx, ...given, firstMs)
      deleteDeadLetters.send(tx, exhaustedMs, limits.events)
      deleteEndpoints.send(tx, Math.max(doneMs, exhaustedMs), limits.events)
      const isWhole = deliveries.length < limits.deliveries
      return {
        rows: deliveries.length + removed.length,
        more: events.length === limits.events || !isWhole,
        last: (isWhole && events.at(-1)?.since) || from,
      }
    })
    from = last
    overlapHours = pruned.more ? 0 : 1
    return pruned
  }
  return { batch, oldestAge: async () => (await ageOfOldest(database))[0]?.age ?? 0 }
}
