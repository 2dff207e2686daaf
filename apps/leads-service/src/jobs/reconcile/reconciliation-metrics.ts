import { addGauges, type Database, type Logger, type Metrics, statement } from '@leadwire/service-kit'

/** The maximum number of findings that a scrape counts. The limit keeps a scrape at a few milliseconds. */
const COUNTED_AT_MOST = 10_000

// Kinds without findings are reported as 0.
const results = statement<{ kind: string; count: number; finishedAt: number }>('reconciliation-results')`
  SELECT kind, count(u.found)::int AS count,
    (SELECT extract(epoch FROM coalesce(finished_at, 'epoch'))::float8 FROM reconciliation) AS "finishedAt"
  FROM unnest(ARRAY['lead_missing', 'event_missing', 'event_waiting', 'fan_out_overdue', 'deliveries_missing',
    'delivery_overdue', 'delivery_beyond_schedule', 'delivery_held']) AS kind
  LEFT JOIN (SELECT finding ->> 'kind' AS found FROM unexplained LIMIT ${COUNTED_AT_MOST}) u ON u.found = kind
  GROUP BY kind`

/**
 * Adds the results of reconciliation to the metrics, whichever copy has run the check. Each scrape reads the
 * results from the database.
 */
export const addReconciliationMetrics = (deps: {
  metrics: Metrics
  database: Database
  logger: Logger
}): void => {
  addGauges({ ...deps, query: () => results(deps.database) }, [
    {
      name: 'leadwire_unexplained',
      help: `Leads, events and deliveries that reconciliation cannot explain, by kind. A total of ${COUNTED_AT_MOST} means at least that many.`,
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
