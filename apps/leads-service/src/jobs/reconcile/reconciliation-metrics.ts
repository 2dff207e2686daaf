import { addGauges, type Database, type Logger, type Metrics, statement } from '@leadwire/service-kit'

/** A count stops here: a scrape costs milliseconds, whatever was found. */
const COUNTED_AT_MOST = 10_000

// Kinds without findings are reported as 0.
const results = statement<{ kind: string; count: number; finishedAt: number }>('reconciliation-results')`
  SELECT kind, count(u.found)::int AS count,
    (SELECT extract(epoch FROM coalesce(finished_at, 'epoch'))::float8 FROM reconciliation) AS "finishedAt"
  FROM unnest(ARRAY['lead_missing', 'event_missing', 'event_waiting', 'deliveries_missing', 'delivery_overdue',
    'delivery_beyond_schedule', 'delivery_held']) AS kind
  LEFT JOIN (SELECT finding ->> 'kind' AS found FROM unexplained LIMIT ${COUNTED_AT_MOST}) u ON u.found = kind
  GROUP BY kind`

/** Adds the results of reconciliation, by any copy, to the metrics. A scrape queries them. */
export const addReconciliationMetrics = (deps: {
  metrics: Metrics
  database: Database
  logger: Logger
}): void => {
  addGauges({ ...deps, query: () => results(deps.database) }, [
    {
      name: 'leadwire_unexplained',
      help: `Leads, events and deliveries that reconciliation can not explain, by kind; ${COUNTED_AT_MOST} in all stand for as many or more.`,
      label: 'kind',
      of: (rows) => Object.fromEntries(rows.map(({ kind, count }) => [kind, count])),
    },
    {
      name: 'leadwire_reconciliation_timestamp_seconds',
      help: 'When the last reconciliation of all accounts ended; 0 before the first.',
      of: ([row]) => row!.finishedAt,
    },
  ])
}
