import type { Transaction } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import { statement } from '../statement'
import type { ClaimedDelivery } from './claim'

/** The outcome of an attempt. A manual one leaves the schedule as it is. */
export interface AttemptRecord {
  delivery: ClaimedDelivery
  outcome: Outcome
  /** When to try again; null after the last attempt of the schedule. */
  retryAt: Date | null
}

const record = statement<{ id: number }>('record-attempts')`
  WITH ended AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::timestamptz[], $4::int[], $5::int[], $6::text[],
      $7::text[], $8::timestamptz[], $9::boolean[])
      AS r (id, claim, started_at, duration_ms, status, error, response, retry_at, manual)
    ORDER BY id
  ), moved AS (
    UPDATE deliveries d SET
      status = CASE
        WHEN e.error IS NULL THEN 'delivered'
        WHEN e.manual OR d.status = 'cancelled' THEN d.status
        WHEN e.retry_at IS NULL THEN (
          SELECT CASE WHEN p.deleted_at IS NULL THEN 'exhausted' ELSE 'cancelled' END FROM endpoints p WHERE p.id = d.endpoint_id
        )
        ELSE d.status
      END,
      next_attempt_at = CASE
        WHEN e.error IS NULL OR d.status = 'cancelled' THEN NULL
        WHEN e.manual THEN d.next_attempt_at
        ELSE e.retry_at
      END,
      attempt_count = d.attempt_count + 1,
      manual_at = CASE WHEN NOT e.manual AND e.error IS NOT NULL AND d.status <> 'cancelled' THEN d.manual_at END,
      manual_attempts = d.manual_attempts + e.manual::int,
      claim = NULL,
      claimed_until = NULL,
      updated_at = clock_timestamp()
    FROM ended e WHERE d.id = e.id AND d.claim = e.claim
    RETURNING d.id, d.endpoint_id, d.attempt_count AS number, e.started_at, e.duration_ms, e.status, e.error, e.response
  ), recorded AS (
    INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error, response)
    SELECT id, number, started_at, duration_ms, status, error, response FROM moved
  ), counted AS (
    INSERT INTO endpoint_hours AS known (endpoint_id, hour_of_day, hour, succeeded, failed, last_success_at)
    SELECT endpoint_id, extract(hour FROM started_at), max(date_trunc('hour', started_at)),
      count(*) FILTER (WHERE error IS NULL), count(error), max(started_at) FILTER (WHERE error IS NULL)
    FROM moved GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (endpoint_id, hour_of_day) DO UPDATE SET
      hour = excluded.hour,
      succeeded = excluded.succeeded + CASE WHEN known.hour = excluded.hour THEN known.succeeded ELSE 0 END,
      failed = excluded.failed + CASE WHEN known.hour = excluded.hour THEN known.failed ELSE 0 END,
      last_success_at = greatest(known.last_success_at, excluded.last_success_at)
    RETURNING endpoint_id
  ), recovered AS (
    DELETE FROM endpoint_failures WHERE (SELECT count(*) FROM counted) > 0
      AND endpoint_id = ANY (ARRAY (SELECT endpoint_id FROM moved WHERE error IS NULL))
  ), failing AS (
    INSERT INTO endpoint_failures (endpoint_id, since)
    SELECT endpoint_id, min(started_at) FROM moved WHERE (SELECT count(*) FROM counted) > 0
    GROUP BY 1 HAVING count(error) = count(*) ORDER BY 1
    ON CONFLICT DO NOTHING
  )
  SELECT id FROM moved`

/**
 * Records attempts and moves their deliveries on, in one statement. A record whose claim was replaced changes nothing; a claim that
 * ended is valid until it is replaced. A delivery that was held or cancelled meanwhile stays so, unless the attempt delivered it.
 * After a failed manual attempt a delivery is what it was before.
 *
 * `endpoint_hours` is updated in one order, before `endpoint_failures`: its row locks serialise writers of the same endpoint, and
 * two writers never wait in a circle.
 *
 * Answers with true for each record that was written.
 */
export const recordAttempts = async (database: Transaction, records: AttemptRecord[]): Promise<boolean[]> => {
  const column = <Value>(read: (record: AttemptRecord) => Value) => records.map(read)
  const rows = await record(
    database,
    column(({ delivery }) => delivery.id),
    column(({ delivery }) => delivery.claim),
    column(({ outcome }) => outcome.startedAt),
    ...(['durationMs', 'status', 'error', 'response'] as const).map((key) =>
      column(({ outcome }) => outcome[key]),
    ),
    column(({ retryAt }) => retryAt),
    column(({ delivery }) => delivery.manual),
  )
  const written = new Set(rows.map(({ id }) => id))
  return records.map(({ delivery }) => written.has(delivery.id))
}
