import type { Database, Logger, Metrics } from '@leadwire/service-kit'
import { Gauge } from 'prom-client'
import { LEAD_EVENT } from './record-events'

/** A count stops here: a scrape costs milliseconds, whatever has piled up. */
const COUNTED_AT_MOST = 100_000

/** What is true of the events in each state, and the order in which its index has them, oldest first. */
const STATES = {
  unpublished: { where: `${LEAD_EVENT} AND published_at IS NULL`, order: 'id' },
  unconfirmed: { where: `${LEAD_EVENT} AND published_at IS NOT NULL`, order: 'published_at' },
}

const countOf = (where: string) =>
  `SELECT count(*) FROM (SELECT FROM outbox WHERE ${where} LIMIT ${COUNTED_AT_MOST}) o`

const ageOf = (where: string, order: string) => `
  coalesce((
    SELECT extract(epoch FROM clock_timestamp() - created_at) FROM outbox WHERE ${where} ORDER BY ${order} LIMIT 1
  ), 0)`

const forEachState = (figure: (state: { where: string; order: string }) => string) =>
  Object.entries(STATES)
    .map(([name, state]) => `SELECT '${name}' AS state, (${figure(state)})::float8 AS figure`)
    .join(' UNION ALL ')

/** Adds what waits in the outbox to the metrics. It is looked up when somebody asks. */
export const addOutboxMetrics = ({
  metrics,
  database,
  logger,
}: {
  metrics: Metrics
  database: Database
  logger: Logger
}): void => {
  const add = (name: string, help: string, text: string) =>
    new Gauge({
      ...{ name, help, labelNames: ['state'], registers: [metrics] },
      async collect() {
        // What could not be looked up is not told: an old figure would pass for a new one.
        this.reset()
        try {
          for (const { state, figure } of await database.query<{ state: string; figure: number }>({
            name,
            text,
          }))
            this.set({ state }, figure)
        } catch (error) {
          logger.warn({ err: error, metric: name }, 'could not look up a metric')
        }
      },
    })
  add(
    'leadwire_outbox_events',
    `Lead events of the outbox: not published yet, and published but not known to be held by webhook-service; ${COUNTED_AT_MOST} stands for as many or more.`,
    forEachState(({ where }) => countOf(where)),
  )
  add(
    'leadwire_outbox_oldest_seconds',
    'Age of the oldest lead event of the outbox, by state; 0 when there is none.',
    forEachState(({ where, order }) => ageOf(where, order)),
  )
}
