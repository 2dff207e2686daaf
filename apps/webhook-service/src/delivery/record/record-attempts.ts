import { setTimeout as pause } from 'node:timers/promises'
import {
  type BatcherMeters,
  columnsByName,
  createBatcher,
  type Database,
  type Logger,
  limitRepeats,
  type OpenTransaction,
  statement,
  untilSuccess,
} from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { ClaimedDelivery } from '../claim/claim-deliveries'
import type { DeliveryMetrics } from '../delivery-metrics'

const MAX_BATCH = 100
/**
 * The pause after a batch that is not full. Attempts that end during the pause share the next transaction,
 * because a transaction for each attempt would cost more than the attempt.
 */
const INTERVAL_MS = 50

// A success makes any delivery delivered. After a failed scheduled attempt, a cancelled delivery stays
// cancelled, and any other delivery keeps its status if a retry follows. If no retry follows, the delivery
// becomes exhausted, or cancelled if its endpoint was deleted. A failed manual attempt changes neither the
// status nor the schedule.
const update = statement<UpdatedDelivery>('update-attempted-deliveries')`
  UPDATE deliveries d SET
    status = CASE
      WHEN a.error IS NULL THEN 'delivered'
      WHEN a.manual OR d.status = 'cancelled' OR a.retry_at IS NOT NULL THEN d.status
      WHEN (SELECT deleted_at IS NULL FROM endpoints p WHERE p.id = d.endpoint_id) THEN 'exhausted'
      ELSE 'cancelled'
    END,
    next_attempt_at = CASE
      WHEN a.error IS NULL OR d.status = 'cancelled' THEN NULL
      WHEN a.manual THEN d.next_attempt_at
      ELSE a.retry_at
    END,
    manual_at = CASE
      WHEN NOT a.manual AND a.error IS NOT NULL AND d.status <> 'cancelled' THEN d.manual_at
    END,
    attempt_count = d.attempt_count + 1,
    manual_attempts = d.manual_attempts + a.manual::int,
    claim = NULL,
    claimed_until = NULL,
    updated_at = clock_timestamp()
  FROM unnest(:id::bigint[], :claim::int[], :error::text[], :retryAt::timestamptz[], :manual::boolean[])
    AS a (id, claim, error, retry_at, manual)
  WHERE d.id = a.id AND d.claim = a.claim
  RETURNING d.id, d.attempt_count AS number, d.status = 'exhausted' AND NOT a.manual AS "isExhausted"`

const insertAttempts = statement('insert-attempts')`
  INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error, response, reason)
  SELECT * FROM unnest(:id::bigint[], :number::int[], :startedAt::timestamptz[], :durationMs::int[], :status::int[],
    :error::text[], :response::text[], :reason::text[])`

// Writes the rows in the order of their keys, so that concurrent transactions cannot deadlock. Must run
// before `queueReviews`. The transaction of a success waits here until the transaction of a concurrent
// failure at the same endpoint has committed, so that `queueReviews` finds this failure.
const countHours = statement('count-hours')`
  INSERT INTO endpoint_hours AS known (endpoint_id, hour_of_day, hour, succeeded, failed, last_success_at)
  SELECT endpoint_id, extract(hour FROM started_at), max(date_trunc('hour', started_at)),
    count(*) FILTER (WHERE error IS NULL), count(error), max(started_at) FILTER (WHERE error IS NULL)
  FROM unnest(:endpointId::bigint[], :startedAt::timestamptz[], :error::text[]) AS a (endpoint_id, started_at, error)
  GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (endpoint_id, hour_of_day) DO UPDATE SET
    hour = excluded.hour,
    succeeded = excluded.succeeded + CASE WHEN known.hour = excluded.hour THEN known.succeeded ELSE 0 END,
    failed = excluded.failed + CASE WHEN known.hour = excluded.hour THEN known.failed ELSE 0 END,
    last_success_at = greatest(known.last_success_at, excluded.last_success_at)`

// A success is queued only if its endpoint has a recorded failure or another unreviewed attempt, or is
// reported as failing. A review of any other success would change nothing.
const queueReviews = statement('queue-reviews')`
  INSERT INTO unreviewed_attempts (endpoint_id, delivery_id, number, started_at, error, is_exhausted, is_logged)
  SELECT a.* FROM unnest(:endpointId::bigint[], :id::bigint[], :number::int[], :startedAt::timestamptz[], :error::text[],
    :isExhausted::boolean[], :isLogged::boolean[])
    AS a (endpoint_id, delivery_id, number, started_at, error, is_exhausted, is_logged)
  WHERE a.error IS NOT NULL OR EXISTS (SELECT FROM endpoint_failures f WHERE f.endpoint_id = a.endpoint_id)
    OR EXISTS (SELECT FROM unreviewed_attempts u WHERE u.endpoint_id = a.endpoint_id)
    OR EXISTS (SELECT FROM endpoint_reports r WHERE r.endpoint_id = a.endpoint_id AND r.type = 'endpoint.failing' AND r.open)
  RETURNING endpoint_id`

interface UpdatedDelivery {
  id: number
  /** The number of the attempt. */
  number: number
  isExhausted: boolean
}

/**
 * An attempt that was not made and does not count. The attempt function has already updated the delivery and
 * its claim. `retryAt` is when the delivery is due again. Null: no attempt follows.
 */
export interface Unmade {
  retryAt: Date | null
  /** For how many milliseconds this process starts no attempt. */
  pauseMs?: number
}

export interface AttemptOptions {
  database: Database
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome | Unmade>
  /** The pauses in milliseconds from the end of each failed attempt to the next attempt. */
  schedule: number[]
  metrics: DeliveryMetrics
  meters?: BatcherMeters
  /** Called after a commit that has queued attempts for the review step. */
  onReviews?: () => void
  logger: Logger
}

interface Ended {
  delivery: ClaimedDelivery
  outcome: Outcome
  retryAt: Date | null
}

/**
 * Stores attempts and updates their deliveries. Ignores an attempt if its delivery has another claim by now.
 */
const record = async (tx: OpenTransaction, ended: Ended[]) => {
  // Sorts by id. All statements that wait for the locks of several deliveries lock them in this order, so
  // that they cannot deadlock.
  const inOrder = ended.toSorted((a, b) => a.delivery.id - b.delivery.id)
  const attempts = inOrder.map(({ delivery, outcome, retryAt }) => ({
    ...outcome,
    id: delivery.id,
    claim: delivery.claim,
    manual: delivery.manual,
    endpointId: delivery.endpointId,
    // The events of test sends and reports are not in the log. Their failed attempts cause no report.
    isLogged: delivery.sequence !== null,
    retryAt,
  }))
  const updated = await update(tx, columnsByName(attempts, 'id', 'claim', 'error', 'retryAt', 'manual'))
  if (updated.length === 0) return { recordedIds: new Set<number>(), queued: [] }

  const updatedById = new Map(updated.map((delivery) => [delivery.id, delivery]))
  const recorded = attempts
    .filter(({ id }) => updatedById.has(id))
    .map((attempt) => ({ ...attempt, ...updatedById.get(attempt.id)! }))
  const identifiers = columnsByName(recorded, 'id', 'number', 'endpointId', 'isExhausted', 'isLogged')
  const outcomes = columnsByName(recorded, 'startedAt', 'durationMs', 'status', 'error', 'response', 'reason')
  const columns = { ...identifiers, ...outcomes }
  insertAttempts.send(tx, columns)
  countHours.send(tx, columns)
  // Does not await the rows here, so that COMMIT follows at once.
  return { recordedIds: new Set(updatedById.keys()), queued: queueReviews(tx, columns) }
}

/**
 * Creates the function that records an attempt. Attempts that end at about the same time share a transaction.
 */
export const createAttemptRecorder = (options: AttemptOptions & { signal: AbortSignal }) => {
  const { database, schedule, signal, metrics, meters, logger, onReviews } = options
  const failures = limitRepeats(logger)

  const send = async (ended: Ended[]): Promise<boolean[]> => {
    const { recordedIds, queued } = await database.transaction((tx) => record(tx, ended))
    if ((await queued).length > 0) onReviews?.()
    if (ended.length < MAX_BATCH) await pause(INTERVAL_MS)
    return ended.map(({ delivery }) => recordedIds.has(delivery.id))
  }
  const meter = meters?.('record')
  const batch = createBatcher({ send, maxBatch: MAX_BATCH, maxInFlight: 1, maxQueued: 100_000, meter })

  /**
   * Returns when a retry of a failed scheduled attempt is due. Returns null if no retry follows: after a
   * success, a permanent failure, a manual attempt, or the last scheduled attempt.
   */
  const scheduleRetry = (delivery: ClaimedDelivery, outcome: Outcome): Date | null => {
    const pauseMs = outcome.permanent ? undefined : schedule[delivery.scheduledAttempts]
    if (outcome.error === null || delivery.manual || pauseMs === undefined) return null
    return new Date(outcome.startedAt.getTime() + outcome.durationMs + pauseMs)
  }

  const observe = ({ delivery, outcome, retryAt }: Ended, isRecorded: boolean) => {
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
        account_id: delivery.accountId,
        endpoint_id: delivery.endpointId,
        delivery_id: delivery.id,
        event_id: delivery.eventId,
        event_type: delivery.eventType,
        trace_id: delivery.traceparent?.slice(3, 35),
        number: delivery.attemptCount + 1,
        manual: delivery.manual,
        outcome: labels.outcome,
        status,
        error,
        duration_ms: durationMs,
        lateness_ms: latenessMs,
        next_attempt_at: retryAt?.toISOString(),
        recorded: isRecorded,
        cause: cause instanceof Error ? cause.message : undefined,
      },
      'attempt',
    )
  }

  /**
   * Records an attempt. Retries while the database is unavailable, and rejects only when `signal` aborts.
   * Resolves with the time of the retry that follows, or with null if no retry follows (see `scheduleRetry`).
   *
   * Resolves with null, too, if the delivery no longer has this claim. In this case another process has
   * claimed the delivery, or an earlier try has recorded the attempt and only the response of the database
   * was lost. An expired claim is still valid here if no process has replaced it.
   */
  return async (delivery: ClaimedDelivery, outcome: Outcome): Promise<Date | null> => {
    const ended = { delivery, outcome, retryAt: scheduleRetry(delivery, outcome) }
    const isRecorded = await untilSuccess(() => batch(ended), {
      signal,
      pauseMs: 250,
      onFailure: (failure) =>
        failures.warn({ err: failure, delivery_id: delivery.id }, 'could not record an attempt; retrying'),
    })
    observe(ended, isRecorded)
    return isRecorded ? ended.retryAt : null
  }
}
