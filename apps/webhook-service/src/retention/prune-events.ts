import type { Database, OpenTransaction, Pruned } from '@leadwire/service-kit'

/** How long deliveries are kept once they are done, in milliseconds. */
export interface Retention {
  /** Delivered and cancelled ones. */
  doneMs: number
  /** Exhausted ones, and those of samples. */
  exhaustedMs: number
}

/** Events that one transaction looks at, and deliveries that it removes. An event may have a hundred of them. */
const PORTION = { events: 200, deliveries: 1000 }

// One copy at a time, in each schema.
const LOCK = `SELECT pg_try_advisory_xact_lock(hashtextextended('prune ' || current_schema(), 0)) AS locked`

// By now(), as each condition that an index shall end a search by: against clock_timestamp() PostgreSQL reads on to the youngest.
// Skipped is what an erasure is at: it locks events in another order. Found again by the next run, which begins an hour before the
// last event of the run before: what that has removed is in the index until it is vacuumed, and is not stepped over again.
const FIND = `
  SELECT id, coalesce(kept_at, created_at) AS since FROM events
  WHERE coalesce(kept_at, created_at) >= coalesce($1::timestamptz - $4::int * interval '1 hour', '-infinity')
    AND coalesce(kept_at, created_at) < now() - $2::bigint * interval '1 ms'
  ORDER BY coalesce(kept_at, created_at) LIMIT $3
  FOR UPDATE SKIP LOCKED`

/** How long a delivery d of an event e is kept. */
const KEPT = `CASE WHEN d.status = 'exhausted' OR e.sample THEN $2::bigint ELSE $3::bigint END * interval '1 ms'`
/** A delivery that nothing more will happen to by itself. */
const IS_DONE = `d.status IN ('delivered', 'cancelled', 'exhausted') AND d.by_hand_at IS NULL`

const DELETE_DELIVERIES = `
  WITH old AS MATERIALIZED (
    SELECT d.id FROM events e JOIN deliveries d ON d.event_id = e.id
    WHERE e.id = ANY ($1::uuid[]) AND ${IS_DONE} AND d.updated_at < clock_timestamp() - ${KEPT}
    ORDER BY d.id LIMIT $4
    FOR UPDATE OF d SKIP LOCKED
  ), attempts_of_old AS (
    DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT id FROM old))
  )
  DELETE FROM deliveries WHERE id = ANY (ARRAY (SELECT id FROM old)) RETURNING id`

const DELETE_EVENTS = `
  DELETE FROM events e
  WHERE id = ANY ($1::uuid[]) AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = e.id)
    AND created_at < clock_timestamp() - CASE WHEN sample THEN $2::bigint ELSE $3::bigint END * interval '1 ms'
  RETURNING id`

// An event that stays is next looked at when the first of its deliveries may go. That of an open one is done now at the earliest,
// and an exhausted one may be delivered by hand now: each row that stays is read once in the shortest of the times, not again and
// again.
const KEEP = `
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

// The outbox has heard of them long before.
const DELETE_REFUSALS = `
  DELETE FROM refused_events WHERE event_id = ANY (ARRAY (
    SELECT event_id FROM refused_events WHERE refused_at < now() - $1::bigint * interval '1 ms'
    ORDER BY refused_at LIMIT $2))`

interface FoundEvent {
  id: string
  since: string
}

/**
 * Makes the function that prunes the tables of one kind: it removes a portion of old deliveries with their attempts, and the events of
 * which no delivery is left. Open deliveries stay, whatever their age.
 */
export const createPruneEvents = (
  database: Database,
  { doneMs, exhaustedMs }: Retention,
  portion = PORTION,
): (() => Promise<Pruned>) => {
  const firstMs = Math.min(doneMs, exhaustedMs)
  let from: string | null = null
  let overlapHours = 1

  const prune = async (tx: OpenTransaction): Promise<Pruned & { from: string | null }> => {
    const [lock] = await tx.query<{ locked: boolean }>({ name: 'lock-pruning', text: LOCK })
    if (!lock!.locked) return { rows: 0, more: false, from }
    const values = [from, firstMs, portion.events, overlapHours]
    const events = await tx.query<FoundEvent>({ name: 'find-old-events', text: FIND, values })
    const ids = events.map(({ id }) => id)
    const limits = [ids, exhaustedMs, doneMs]
    const deliveries = await tx.query({
      ...{ name: 'delete-old-deliveries', text: DELETE_DELIVERIES, values: [...limits, portion.deliveries] },
    })
    const removed = await tx.query({ name: 'delete-old-events', text: DELETE_EVENTS, values: limits })
    tx.send({ name: 'keep-events', text: KEEP, values: [...limits, firstMs] })
    tx.send({ name: 'delete-refusals', text: DELETE_REFUSALS, values: [exhaustedMs, portion.events] })
    const isWhole = deliveries.length < portion.deliveries
    return {
      rows: deliveries.length + removed.length,
      more: events.length === portion.events || !isWhole,
      from: (isWhole && events.at(-1)?.since) || from,
    }
  }
  return async () => {
    const pruned = await database.transaction(prune)
    from = pruned.from
    overlapHours = pruned.more ? 0 : 1
    return { rows: pruned.rows, more: pruned.more }
  }
}

/** The age in seconds of the oldest event, or the time since it was last looked at; 0 without one. */
export const oldestEventAge = async (database: Database): Promise<number> => {
  const text = `
    SELECT extract(epoch FROM clock_timestamp() - coalesce(kept_at, created_at))::float8 AS age
    FROM events ORDER BY coalesce(kept_at, created_at) LIMIT 1`
  const [row] = await database.query<{ age: number }>({ name: 'oldest-event', text })
  return row?.age ?? 0
}
