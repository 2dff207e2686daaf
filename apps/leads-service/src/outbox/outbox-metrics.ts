import type { Database, Logger, Metrics } from '@leadwire/service-kit'
import { Gauge, Histogram } from 'prom-client'
import type { ObservePublished } from './publish'

/** A count stops here: a scrape costs milliseconds, whatever has piled up. */
const COUNTED_AT_MOST = 100_000

const countOf = (where: string) =>
  `SELECT count(*) FROM (SELECT FROM outbox WHERE ${where} LIMIT ${COUNTED_AT_MOST}) o`

const ageOf = (where: string, order: string) => `
  coalesce((
    SELECT extract(epoch FROM clock_timestamp() - created_at) FROM outbox WHERE ${where} ORDER BY ${order} LIMIT 1
  ), 0)`

/** A figure of the events in each state; `order` is the one in which the index of a state has them, oldest first. */
const ofEachState = (figure: (where: string, order: string) => string) => `
  SELECT 'unpublished' AS state, (${figure('published_at IS NULL', 'created_at')})::float8 AS figure
  UNION ALL
  SELECT 'unconfirmed', (${figure("published_at < 'infinity'", 'published_at')})::float8`

const REFUSED = `SELECT NULL AS state, (${countOf("published_at = 'infinity'")})::float8 AS figure`

/** Adds how long the stream takes for events to the metrics. */
export const createPublishMetrics = (metrics: Metrics): ObservePublished => {
  const seconds = new Histogram({
    name: 'leadwire_publish_seconds',
    help: 'How long it took until the stream had an event, or until that failed, by outcome.',
    labelNames: ['kind', 'outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3],
    registers: [metrics],
  })
  return ({ type, outcome }, milliseconds) => seconds.observe({ kind: type, outcome }, milliseconds / 1000)
}

/** Adds the outbox's backlog to the metrics. A scrape queries it. */
export const addOutboxMetrics = (deps: { metrics: Metrics; database: Database; logger: Logger }): void => {
  const { metrics, database, logger } = deps
  const add = (name: string, help: string, text: string) =>
    new Gauge({
      ...{ name, help, labelNames: ['state'], registers: [metrics] },
      async collect() {
        // Report nothing when the query fails: an old figure would pass for a new one.
        this.reset()
        try {
          const rows = await database.query<{ state: string | null; figure: number }>({ name, text })
          for (const { state, figure } of rows) this.set(state === null ? {} : { state }, figure)
        } catch (error) {
          logger.warn({ err: error, metric: name }, 'could not read a metric')
        }
      },
    })
  add(
    'leadwire_outbox_events',
    `Events of the outbox: not published yet, and published but not known to be held by webhook-service; ${COUNTED_AT_MOST} stands for as many or more.`,
    ofEachState(countOf),
  )
  add(
    'leadwire_outbox_oldest_seconds',
    'Age of the oldest event of the outbox, by state; 0 when there is none.',
    ofEachState(ageOf),
  )
  add(
    'leadwire_outbox_refused_events',
    `Events that webhook-service refused, and that are not published again; ${COUNTED_AT_MOST} stands for as many or more.`,
    REFUSED,
  )
}
