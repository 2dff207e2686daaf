import type { Database, Logger, Metrics } from '@leadwire/service-kit'
import { Gauge } from 'prom-client'

/** A count stops here: a scrape costs milliseconds, whatever was found. */
const COUNTED_AT_MOST = 10_000

// Kinds without findings are reported as 0.
const COUNT = `
  SELECT kind, count(u.found)::int AS count
  FROM unnest(ARRAY['lead_missing', 'event_missing', 'event_waiting', 'deliveries_missing', 'delivery_overdue',
    'delivery_beyond_schedule', 'delivery_held']) AS kind
  LEFT JOIN (SELECT finding ->> 'kind' AS found FROM unexplained LIMIT ${COUNTED_AT_MOST}) u ON u.found = kind
  GROUP BY kind`

const FINISHED = `
  SELECT extract(epoch FROM coalesce(finished_at, 'epoch'))::float8 AS at FROM reconciliation`

/** Adds the results of reconciliation, by any copy, to the metrics. A scrape queries them. */
export const addReconciliationMetrics = (deps: {
  metrics: Metrics
  database: Database
  logger: Logger
}): void => {
  const { metrics, database, logger } = deps
  const add = (name: string, help: string, labelNames: string[], query: (gauge: Gauge) => Promise<void>) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [metrics] },
      async collect() {
        // Report nothing when the query fails: an old figure would pass for a new one.
        this.reset()
        await query(this).catch((error: unknown) =>
          logger.warn({ err: error, metric: name }, 'could not read a metric'),
        )
      },
    })
  add(
    'leadwire_unexplained',
    `Leads, events and deliveries that reconciliation can not explain, by kind; ${COUNTED_AT_MOST} in all stand for as many or more.`,
    ['kind'],
    async (gauge) => {
      const rows = await database.query<{ kind: string; count: number }>({
        name: 'count-unexplained',
        text: COUNT,
      })
      for (const { kind, count } of rows) gauge.set({ kind }, count)
    },
  )
  add(
    'leadwire_reconciliation_timestamp_seconds',
    'When the last reconciliation of all accounts ended; 0 before the first.',
    [],
    async (gauge) => {
      const [row] = await database.query<{ at: number }>({ name: 'reconciled-at', text: FINISHED })
      gauge.set(row!.at)
    },
  )
}
