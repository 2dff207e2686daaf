import type { Database, Logger, Metrics } from '@leadwire/service-kit'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Clock } from './clock'
import { findDueEndpoints } from './sending/find-due-endpoints'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** A count stops here: a scrape costs milliseconds, whatever has piled up. */
const COUNTED_AT_MOST = 100_000

/** What is counted and timed about webhooks. What waits is looked up in the database, when somebody asks. */
export const createWebhookMetrics = ({
  metrics,
  queue,
  clock,
  logger,
}: {
  metrics: Metrics
  queue: Database
  clock: Clock
  logger: Logger
}) => {
  const registers = [metrics]
  // The other figures are worth more than an error: one that can't be looked up keeps the value it had.
  const notFound = (metric: string, error: unknown) =>
    logger.warn({ err: error, metric }, 'a metric could not be looked up')
  new Gauge({
    name: 'leadwire_webhook_deliveries_open',
    help: `Deliveries that are not at their end, by status; ${COUNTED_AT_MOST} stands for as many or more.`,
    labelNames: ['status'],
    registers,
    async collect() {
      try {
        const [row] = await queue.query<{ pending: number; held: number }>({
          name: 'count-open-deliveries',
          // Each by its literal, so that the partial index without the delivered ones serves.
          text: `SELECT
            (SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'pending' LIMIT $1) p) AS pending,
            (SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'held' LIMIT $1) h) AS held`,
          values: [COUNTED_AT_MOST],
        })
        for (const [status, count] of Object.entries(row ?? {})) this.set({ status }, count)
      } catch (error) {
        notFound('leadwire_webhook_deliveries_open', error)
      }
    },
  })
  new Gauge({
    name: 'leadwire_webhook_oldest_due_seconds',
    help: 'How long the attempt that is due longest has waited for somebody to begin it; 0 when none waits.',
    registers,
    async collect() {
      try {
        const now = clock.now()
        const due = await findDueEndpoints(queue, now)
        const oldest = due.reduce((earliest, { dueAt }) => Math.min(earliest, dueAt), now.getTime())
        this.set((now.getTime() - oldest) / 1000)
      } catch (error) {
        notFound('leadwire_webhook_oldest_due_seconds', error)
      }
    },
  })
  return {
    observeBodies: (bytesInHand: () => number) =>
      void new Gauge({
        name: 'leadwire_webhook_bodies_in_hand_bytes',
        help: 'Bodies of the attempts under way; one for all deliveries of an event.',
        registers,
        collect() {
          this.set(bytesInHand())
        },
      }),
    eventsTaken: new Counter({
      name: 'leadwire_webhook_events_taken_total',
      help: 'Lead events stored with their fan-out, repetitions included.',
      registers,
    }),
    eventsRefused: new Counter({
      name: 'leadwire_webhook_events_refused_total',
      help: 'Messages that are no lead event, or one with broken parts, repetitions included.',
      registers,
    }),
    attempts: new Counter({
      name: 'leadwire_webhook_attempts_total',
      help: 'Attempts by outcome: delivered, or the class of the failure.',
      labelNames: ['outcome'],
      registers,
    }),
    attemptSeconds: new Histogram({
      name: 'leadwire_webhook_attempt_seconds',
      help: 'How long attempts took, by outcome.',
      labelNames: ['outcome'],
      buckets: SECONDS,
      registers,
    }),
    firstAttemptSeconds: new Histogram({
      name: 'leadwire_webhook_first_attempt_delay_seconds',
      help: 'From the storing of an event to the start of a first attempt at it.',
      buckets: SECONDS,
      registers,
    }),
    latenessSeconds: new Histogram({
      name: 'leadwire_webhook_lateness_seconds',
      help: 'From the time an attempt was due to its start.',
      buckets: SECONDS,
      registers,
    }),
    inFlight: new Gauge({
      name: 'leadwire_webhook_attempts_in_flight',
      help: 'Attempts under way.',
      registers,
    }),
  }
}

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>
