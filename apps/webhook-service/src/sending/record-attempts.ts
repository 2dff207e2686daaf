import type { Transaction } from '@leadwire/service-kit'

/** What came of an attempt, to be written down. */
export interface AttemptRecord {
  deliveryId: number
  claim: number
  /** Whether somebody asked for it: then it leaves the schedule as it is. */
  byHand: boolean
  startedAt: Date
  durationMs: number
  /** The HTTP status of the answer. */
  status: number | null
  /** Null: delivered. */
  error: string | null
  response: string | null
  /** When to try again; null after the last of the schedule. */
  retryAt: Date | null
}

/**
 * Writes attempts down and moves their deliveries on, all in one statement. A record whose claim was lost meanwhile
 * changes nothing. A delivery that was held or cancelled in the middle of its attempt keeps that, unless the attempt
 * delivered it; one whose attempt by hand failed is again what it was. Beside them the endpoints' hours are counted:
 * grouped first, and in one order, so that two writers never wait in a circle.
 *
 * Answers with true for each record that was written.
 */
export const recordAttempts = async (
  database: Transaction,
  { workerId, records }: { workerId: number; records: AttemptRecord[] },
): Promise<boolean[]> => {
  const rows = await database.query<{ id: number }>({
    name: 'record-attempts',
    text: `
      WITH ended AS (
        SELECT * FROM unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::int[], $6::int[], $7::text[],
          $8::text[], $9::timestamptz[], $10::boolean[])
          AS r (id, claim, started_at, duration_ms, status, error, response, retry_at, by_hand)
      ), mine AS MATERIALIZED (
        SELECT ended.*, d.endpoint_id, d.attempt_count + 1 AS number,
          CASE WHEN ended.by_hand THEN d.next_attempt_at ELSE ended.retry_at END AS next_at,
          CASE
            WHEN ended.error IS NULL THEN 'delivered'
            WHEN ended.by_hand OR d.status = 'cancelled' THEN d.status
            WHEN ended.retry_at IS NULL THEN 'exhausted'
            ELSE d.status
          END AS outcome
        FROM ended JOIN deliveries d ON d.id = ended.id AND d.claimed_by = $1 AND d.claim = ended.claim
        WHERE d.id = ANY ($2)
        ORDER BY d.id
        FOR UPDATE OF d
      ), written AS (
        INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error, response)
        SELECT id, number, started_at, duration_ms, status, error, response FROM mine
      ), counted AS (
        INSERT INTO endpoint_hours AS known (endpoint_id, hour_of_day, hour, succeeded, failed, last_success_at)
        SELECT endpoint_id, extract(hour FROM started_at), max(date_trunc('hour', started_at)),
          count(*) FILTER (WHERE error IS NULL), count(error), max(started_at) FILTER (WHERE error IS NULL)
        FROM mine GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (endpoint_id, hour_of_day) DO UPDATE SET
          hour = excluded.hour,
          succeeded = excluded.succeeded + CASE WHEN known.hour = excluded.hour THEN known.succeeded ELSE 0 END,
          failed = excluded.failed + CASE WHEN known.hour = excluded.hour THEN known.failed ELSE 0 END,
          last_success_at = greatest(known.last_success_at, excluded.last_success_at)
      )
      UPDATE deliveries d SET
        status = mine.outcome,
        attempt_count = mine.number,
        next_attempt_at = CASE WHEN mine.outcome IN ('pending', 'held') THEN mine.next_at END,
        by_hand_at = CASE WHEN NOT mine.by_hand AND mine.outcome NOT IN ('delivered', 'cancelled') THEN d.by_hand_at END,
        by_hand_attempts = d.by_hand_attempts + mine.by_hand::int,
        claimed_by = NULL,
        updated_at = clock_timestamp()
      FROM mine WHERE d.id = mine.id AND d.id = ANY ($2)
      RETURNING d.id`,
    values: [
      workerId,
      records.map(({ deliveryId }) => deliveryId),
      records.map(({ claim }) => claim),
      records.map(({ startedAt }) => startedAt.toISOString()),
      records.map(({ durationMs }) => durationMs),
      records.map(({ status }) => status),
      records.map(({ error }) => error),
      records.map(({ response }) => response),
      records.map(({ retryAt }) => retryAt?.toISOString() ?? null),
      records.map(({ byHand }) => byHand),
    ],
  })
  const written = new Set(rows.map(({ id }) => id))
  return records.map(({ deliveryId }) => written.has(deliveryId))
}
