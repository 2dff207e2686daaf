import { addGauges, type Database, type Logger, type Metrics, statement } from '@leadwire/service-kit'
import { Histogram } from 'prom-client'
import type { ObservePublished } from './publish-events'

/** The maximum number of rows that a scrape counts. The limit keeps a scrape at a few milliseconds. */
const COUNTED_AT_MOST = 100_000

const WAITING = 'next_check_at IS NOT NULL'
const REFUSED = 'next_check_at IS NULL AND refusal IS NOT NULL'

const countRows = (where: string) =>
  `(SELECT count(*) FROM (SELECT FROM outbox WHERE ${where} LIMIT ${COUNTED_AT_MOST}) o)`

const firstAge = (where: string, order: string) => `
  (SELECT extract(epoch FROM clock_timestamp() - created_at) FROM outbox WHERE ${where} ORDER BY ${order} LIMIT 1)`

// Among events that were published only once, the oldest has the earliest check. Events that were published
// again have a separate index by age. The age of the oldest event is therefore the greater result of two
// queries, each of which reads one row of an index.
const readBacklog = statement<Backlog>('outbox-backlog')`
  SELECT ${countRows(WAITING)} AS waiting, ${countRows(REFUSED)} AS refused,
    coalesce(greatest(
      ${firstAge(WAITING, 'next_check_at')},
      ${firstAge(`${WAITING} AND publish_count > 1`, 'created_at')}
    ), 0)::float8 AS "waitingAge"`

interface Backlog {
  waiting: number
  refused: number
  waitingAge: number
}

/**
 * Adds a metric: the histogram of the time that publishing an event takes. Returns the function that records
 * such a time.
 */
export const createPublishMetrics = (metrics: Metrics): ObservePublished => {
  const seconds = new Histogram({
    name: 'leadwire_publish_seconds',
    help: 'Time to publish an event to the stream, by kind and outcome.',
    labelNames: ['kind', 'outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3],
    registers: [metrics],
  })
  return ({ type, outcome }, milliseconds) => seconds.observe({ kind: type, outcome }, milliseconds / 1000)
}

/** Adds the outbox's backlog to the metrics. Each scrape queries the backlog. */
export const addOutboxMetrics = (deps: { metrics: Metrics; database: Database; logger: Logger }): void => {
  const query = async () => (await readBacklog(deps.database))[0]!
  addGauges({ ...deps, query }, [
    {
      name: 'leadwire_outbox_events',
      help: `Events that webhook-service has not confirmed. ${COUNTED_AT_MOST} means at least that many.`,
      of: ({ waiting }) => waiting,
    },
    {
      name: 'leadwire_outbox_oldest_seconds',
      help: 'Age in seconds of the oldest event that webhook-service has not confirmed; 0 if there is none.',
      of: ({ waitingAge }) => waitingAge,
    },
    {
      name: 'leadwire_outbox_refused_events',
      help: `Events that webhook-service refused, and that are not published again. ${COUNTED_AT_MOST} means at least that many.`,
      of: ({ refused }) => refused,
    },
  ])
}
