import type { Database, Metrics } from '@leadwire/service-kit'
import { Counter, Gauge, Histogram } from 'prom-client'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** What is counted and timed about webhooks. The open deliveries are counted in the database, when somebody asks. */
export const createWebhookMetrics = (metrics: Metrics, database: Database) => {
  const registers = [metrics]
  new Gauge({
    name: 'leadwire_webhook_deliveries_open',
    help: 'Deliveries that are not at their end, by status.',
    labelNames: ['status'],
    registers,
    async collect() {
      try {
        const [row] = await database.query<{ pending: number; held: number }>({
          name: 'count-open-deliveries',
          // Each by its literal, so that the partial index without the delivered ones serves.
          text: `SELECT (SELECT count(*) FROM deliveries WHERE status = 'pending') AS pending,
                        (SELECT count(*) FROM deliveries WHERE status = 'held') AS held`,
        })
        for (const [status, count] of Object.entries(row ?? {})) this.set({ status }, count)
      } catch {
        // While the database is away the other figures are worth more than an error.
      }
    },
  })
  return {
    eventsTaken: new Counter({
      name: 'leadwire_webhook_events_taken_total',
      help: 'Lead events stored with their fan-out, repetitions included.',
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
