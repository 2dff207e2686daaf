import { setTimeout as pause } from 'node:timers/promises'
import {
  type BatcherMeter,
  createBatcher,
  type Logger,
  type Transaction,
  untilSuccess,
} from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { ClaimedDelivery } from './claim'
import type { DeliveryMetrics } from './delivery-metrics'
import { type AttemptRecord, recordAttempts } from './record-attempts'

const MAX_BATCH = 100
/** A statement for each attempt would cost more than the attempt: what ends meanwhile joins the next batch. */
const INTERVAL_MS = 50

/** Records attempts: their rows, their metrics and one log line for each. */
export const createAttemptRecorder = (options: {
  database: Transaction
  /** Milliseconds from the end of each failure to the next attempt. */
  schedule: number[]
  /** Aborted when there is no more time to wait for the database. */
  signal: AbortSignal
  metrics: DeliveryMetrics
  meter?: BatcherMeter | undefined
  logger: Logger
}) => {
  const { database, schedule, signal, metrics, logger, meter } = options
  const send = async (records: AttemptRecord[]) => {
    const recorded = await recordAttempts(database, records)
    if (records.length < MAX_BATCH) await pause(INTERVAL_MS)
    return recorded
  }
  const record = createBatcher({ send, maxBatch: MAX_BATCH, maxInFlight: 1, maxQueued: 100_000, meter })

  const retryAt = (delivery: ClaimedDelivery, outcome: Outcome): Date | null => {
    const pauseMs = outcome.permanent ? undefined : schedule[delivery.scheduledAttempts]
    if (outcome.error === null || delivery.manual || pauseMs === undefined) return null
    return new Date(outcome.startedAt.getTime() + outcome.durationMs + pauseMs)
  }

  const observe = (delivery: ClaimedDelivery, outcome: Outcome, recorded: boolean) => {
    const { startedAt, durationMs, status, error, cause } = outcome
    const name = error ?? 'delivered'
    const latenessMs = startedAt.getTime() - Date.parse(delivery.dueAt)
    metrics.attempts.inc({ outcome: name })
    metrics.attemptSeconds.observe({ outcome: name }, durationMs / 1000)
    metrics.latenessSeconds.observe(Math.max(0, latenessMs) / 1000)
    if (delivery.attemptCount === 0) {
      const delayMs = startedAt.getTime() - Date.parse(delivery.storedAt)
      metrics.firstAttemptSeconds.observe(Math.max(0, delayMs) / 1000)
    }
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

  /** Records an attempt, however long the database is unavailable. Rejects only when `signal` aborts. */
  return async (delivery: ClaimedDelivery, outcome: Outcome): Promise<void> => {
    const attempt = { delivery, outcome, retryAt: retryAt(delivery, outcome) }
    const recorded = await untilSuccess(() => record(attempt), {
      ...{ signal, pauseMs: 250 },
      onFailure: (failure) =>
        logger.warn({ err: failure, delivery_id: delivery.id }, 'an attempt is not recorded yet'),
    })
    observe(delivery, outcome, recorded)
  }
}
