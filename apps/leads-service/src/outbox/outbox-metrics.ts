import type { Database, Logger, Metrics } from '@leadwire/service-kit'
import { Gauge } from 'prom-client'
import { LEAD_EVENT } from './event-rows'

/** A count stops here: a scrape costs milliseconds, whatever has piled up. */
const COUNTED_AT_MOST = 100_000

/** What is true of the events in each state, and the order in which its index has them, oldest first. */
const STATES = {
  unpublished: { where: `${LEAD_EVENT} AND published_at IS NULL`, order: 'id' },
  unconfirmed: { where: `${LEAD_EVENT} AND published_at IS NOT NULL`, order: 'published_at' },
}

const SELECT = Object.entries(STATES)
  .map(
    ([state, { where, order }]) => `
  SELECT '${state}' AS state,
    (SELECT count(*)::int FROM (SELECT FROM outbox WHERE ${where} LIMIT ${COUNTED_AT_MOST}) o) AS events,
    coalesce((
      SELECT extract(epoch FROM clock_timestamp() - created_at) FROM outbox
      WHERE ${where} ORDER BY ${order} LIMIT 1
    ), 0)::float8 AS oldest`,
  )
  .join(' UNION ALL')

interface StateRow {
  state: string
  events: number
  oldest: number
}

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
  const registers = [metrics]
  const labelNames = ['state']
  const oldest = new Gauge({
    name: 'leadwire_outbox_oldest_seconds',
    help: 'Age of the oldest lead event of the outbox, by state; 0 when there is none.',
    labelNames,
    registers,
  })
  new Gauge({
    name: 'leadwire_outbox_events',
    help: `Lead events of the outbox: not published yet, and published but not known to be held by webhook-service; ${COUNTED_AT_MOST} stands for as many or more.`,
    labelNames,
    registers,
    async collect() {
      // What could not be looked up is not told: an old figure would pass for a new one.
      this.reset()
      oldest.reset()
      try {
        for (const row of await database.query<StateRow>({ name: 'outbox-metrics', text: SELECT })) {
          this.set({ state: row.state }, row.events)
          oldest.set({ state: row.state }, row.oldest)
        }
      } catch (error) {
        logger.warn({ err: error }, 'could not look up what waits in the outbox')
      }
    },
  })
}
