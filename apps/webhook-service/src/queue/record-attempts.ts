import { setTimeout as pause } from 'node:timers/promises'
import {
  type BatcherMeters,
  columnsOf,
  createBatcher,
  type Database,
  type Logger,
  statement,
  untilSuccess,
} from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import { ADD_TO_REPORT } from '../endpoints/state/endpoint-reports'
import type { ClaimedDelivery } from './claim-deliveries'
import type { DeliveryMetrics } from './delivery-metrics'

const MAX_BATCH = 100
/** A statement for each attempt would cost more than the attempt: what ends meanwhile joins the next batch. */
const INTERVAL_MS = 50

/** An endpoint is failing when so many attempts of one delivery have failed, or all of them, and none succeeded since the first. */
const FAILING_ATTEMPTS = 3

const record = statement<{ id: number }>('record-attempts')`
  WITH ended AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::int[], $3::timestamptz[], $4::int[], $5::int[], $6::text[],
      $7::text[], $8::timestamptz[], $9::boolean[], $10::text[], $11::boolean[])
      AS r (id, claim, started_at, duration_ms, status, error, response, retry_at, manual, reason, logged)
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
    RETURNING d.id, d.endpoint_id, d.attempt_count AS number, e.started_at, e.duration_ms, e.status, e.error, e.response, e.reason,
      e.logged, d.status = 'exhausted' AND NOT e.manual AS exhausted
  ), recorded AS (
    INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error, response, reason)
    SELECT id, number, started_at, duration_ms, status, error, response, reason FROM moved
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
  ), recovered_reports AS (
    UPDATE endpoint_reports r SET open = false, due_at = coalesce(due_at, at),
      at = (SELECT max(started_at) FROM moved m WHERE m.endpoint_id = r.endpoint_id AND m.error IS NULL)
    WHERE (SELECT count(*) FROM counted) > 0 AND type = 'endpoint.failing' AND open
      AND endpoint_id = ANY (ARRAY (SELECT endpoint_id FROM moved WHERE error IS NULL))
  ), reported AS (
    INSERT INTO endpoint_reports AS r (endpoint_id, type, open, count, since, at, due_at, delivery_id)
    SELECT * FROM (
      SELECT endpoint_id, 'endpoint.failing', true, 0, min(f.since), max(started_at), max(started_at), NULL::bigint
      FROM moved m CROSS JOIN LATERAL (SELECT since FROM endpoint_failures f WHERE f.endpoint_id = m.endpoint_id OFFSET 0) f
      WHERE logged AND error IS NOT NULL AND (number >= ${FAILING_ATTEMPTS} OR exhausted)
        AND f.since <= coalesce((SELECT a.started_at FROM attempts a WHERE a.delivery_id = m.id AND a.number = 1), m.started_at)
        AND endpoint_id <> ALL (ARRAY (SELECT endpoint_id FROM moved WHERE error IS NULL))
      GROUP BY 1
      UNION ALL
      SELECT endpoint_id, 'delivery.exhausted', false, count(*), min(started_at), max(started_at), max(started_at), max(id)
      FROM moved WHERE logged AND exhausted GROUP BY 1
    ) e WHERE (SELECT count(*) FROM counted) > 0 ORDER BY 1, 2
    ${ADD_TO_REPORT}
  )
  SELECT id FROM moved`

/** An attempt that was not made and does not count. Its delivery is no longer this process's: it ended, or is due again at `retryAt`. */
export interface Unmade {
  retryAt: Date | null
}

export interface AttemptOptions {
  database: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome | Unmade>
  /** Milliseconds from the end of each failure to the next attempt. */
  schedule: number[]
  metrics: DeliveryMetrics
  meters?: BatcherMeters
  logger: Logger
}

interface Ended {
  delivery: ClaimedDelivery
  outcome: Outcome
  retryAt: Date | null
}

export const createAttemptRecorder = (options: AttemptOptions & { signal: AbortSignal }) => {
  const { database, schedule, signal, metrics, meters, logger } = options
  /**
   * Records attempts and moves their deliveries on. A record whose claim was replaced changes nothing; a claim that ended is valid until
   * then. A held or cancelled delivery stays so, unless it was delivered. `endpoint_hours` is updated in one order, before
   * `endpoint_failures` and `endpoint_reports`: its row locks serialise writers of the same endpoint. Only attempts at events of the log
   * count for reports, not those at reports. Answers with whether each was written.
   */
  const send = async (ended: Ended[]): Promise<boolean[]> => {
    const attempts = ended.map(({ delivery, outcome, retryAt }) => ({
      ...{ id: delivery.id, claim: delivery.claim, manual: delivery.manual, retryAt },
      logged: delivery.sequence !== null,
      ...outcome,
    }))
    const rows = await record(
      database,
      ...columnsOf(attempts, 'id', 'claim', 'startedAt', 'durationMs', 'status', 'error'),
      ...columnsOf(attempts, 'response', 'retryAt', 'manual', 'reason', 'logged'),
    )
    if (ended.length < MAX_BATCH) await pause(INTERVAL_MS)
    const written = new Set(rows.map(({ id }) => id))
    return ended.map(({ delivery }) => written.has(delivery.id))
  }
  const meter = meters?.('record')
  const batch = createBatcher({ send, maxBatch: MAX_BATCH, maxInFlight: 1, maxQueued: 100_000, meter })

  const retryAt = (delivery: ClaimedDelivery, outcome: Outcome): Date | null => {
    const pauseMs = outcome.permanent ? undefined : schedule[delivery.scheduledAttempts]
    if (outcome.error === null || delivery.manual || pauseMs === undefined) return null
    return new Date(outcome.startedAt.getTime() + outcome.durationMs + pauseMs)
  }

  const observe = (delivery: ClaimedDelivery, outcome: Outcome, recorded: boolean) => {
    const { startedAt, durationMs, status, error, cause } = outcome
    const labels = { outcome: error ?? 'delivered' }
    const latenessMs = startedAt.getTime() - delivery.dueAt
    metrics.attempts.inc(labels)
    metrics.attemptSeconds.observe(labels, durationMs / 1000)
    metrics.latenessSeconds.observe(Math.max(0, latenessMs) / 1000)
    if (delivery.attemptCount === 0)
      metrics.firstAttemptSeconds.observe(Math.max(0, startedAt.getTime() - delivery.storedAt) / 1000)
    logger.info(
      {
        delivery_id: delivery.id,
        endpoint_id: delivery.endpointId,
        event_id: delivery.eventId,
        trace_id: delivery.traceparent?.slice(3, 35),
        number: delivery.attemptCount + 1,
        manual: delivery.manual,
        ...{ status, error, duration_ms: durationMs, lateness_ms: latenessMs, recorded },
        ...(cause instanceof Error ? { cause: cause.message } : {}),
      },
      'attempt',
    )
  }

  /**
   * Records an attempt, however long the database is unavailable. Rejects only when `signal` aborts. Answers with the time of the
   * next attempt, null where this one was the last or its claim was replaced.
   */
  return async (delivery: ClaimedDelivery, outcome: Outcome): Promise<Date | null> => {
    const ended = { delivery, outcome, retryAt: retryAt(delivery, outcome) }
    const recorded = await untilSuccess(() => batch(ended), {
      ...{ signal, pauseMs: 250 },
      onFailure: (failure) =>
        logger.warn({ err: failure, delivery_id: delivery.id }, 'an attempt is not recorded yet'),
    })
    observe(delivery, outcome, recorded)
    return recorded ? ended.retryAt : null
  }
}
