import { addGauges, type Database, type Logger, type Metrics, statement } from '@leadwire/service-kit'
import { Histogram } from 'prom-client'
import type { ObservePublished } from './publish'

/** A count stops here: a scrape costs milliseconds, whatever has piled up. */
const COUNTED_AT_MOST = 100_000

const UNPUBLISHED = 'published_at IS NULL'
const UNCONFIRMED = "published_at < 'infinity'"
const REFUSED = "published_at = 'infinity'"

const countOf = (where: string) =>
  `(SELECT count(*) FROM (SELECT FROM outbox WHERE ${where} LIMIT ${COUNTED_AT_MOST}) o)`

// `order` is the one in which the index of a state has its events, oldest first.
const ageOf = (where: string, order: string) => `
  coalesce((
    SELECT extract(epoch FROM clock_timestamp() - created_at) FROM outbox WHERE ${where} ORDER BY ${order} LIMIT 1
  ), 0)::float8`

const readBacklog = statement<Backlog>('outbox-backlog')`
  SELECT ${countOf(UNPUBLISHED)} AS unpublished, ${countOf(UNCONFIRMED)} AS unconfirmed, ${countOf(REFUSED)} AS refused,
    ${ageOf(UNPUBLISHED, 'created_at')} AS "unpublishedAge",
    ${ageOf(UNCONFIRMED, 'published_at')} AS "unconfirmedAge"`

interface Backlog {
  unpublished: number
  unconfirmed: number
  refused: number
  unpublishedAge: number
  unconfirmedAge: number
}

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
  const query = async () => (await readBacklog(deps.database))[0]!
  addGauges({ ...deps, query }, [
    {
      name: 'leadwire_outbox_events',
      help: `Events of the outbox: not published yet, and published but not known to be held by webhook-service; ${COUNTED_AT_MOST} stands for as many or more.`,
      label: 'state',
      of: ({ unpublished, unconfirmed }) => ({ unpublished, unconfirmed }),
    },
    {
      name: 'leadwire_outbox_oldest_seconds',
      help: 'Age of the oldest event of the outbox, by state; 0 when there is none.',
      label: 'state',
      of: ({ unpublishedAge, unconfirmedAge }) => ({
        unpublished: unpublishedAge,
        unconfirmed: unconfirmedAge,
      }),
    },
    {
      name: 'leadwire_outbox_refused_events',
      help: `Events that webhook-service refused, and that are not published again; ${COUNTED_AT_MOST} stands for as many or more.`,
      of: ({ refused }) => refused,
    },
  ])
}
