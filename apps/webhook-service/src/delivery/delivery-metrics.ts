import { addGauges, type Database, type Logger, type Metrics, statement } from '@leadwire/service-kit'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Clock } from '../clock'
import { renderOpenStatus } from '../delivery-sql'
import { findDueEndpoints } from './claim/due-endpoints'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Counting stops at this number, so that a scrape takes milliseconds with any backlog. */
const MAX_COUNT = 100_000

/**
 * SQL: the number of open deliveries with a status, at most `:limit`. If an endpoint is in `endpoint_syncs`,
 * the state of the endpoint decides the status of its deliveries. The deliveries of all other endpoints are
 * counted by their column `status`. To skip the endpoints of `endpoint_syncs`, the query reads only the parts
 * of the index that lie before, between and after them.
 */
const countOpen = (status: 'pending' | 'held') => `(
  SELECT count(*) FROM (
    SELECT FROM (
      SELECT coalesce(lag(endpoint_id) OVER (ORDER BY endpoint_id), 0) AS after, endpoint_id AS before
      FROM endpoint_syncs
      UNION ALL
      SELECT coalesce(max(endpoint_id), 0), ${Number.MAX_SAFE_INTEGER} FROM endpoint_syncs
    ) gap CROSS JOIN LATERAL (
      SELECT FROM deliveries
      WHERE status = '${status}' AND next_attempt_at IS NOT NULL
        AND endpoint_id > gap.after AND endpoint_id < gap.before
      LIMIT :limit
    ) in_sync
    UNION ALL
    SELECT FROM endpoint_syncs s JOIN endpoints p ON p.id = s.endpoint_id CROSS JOIN LATERAL (
      SELECT FROM deliveries
      WHERE endpoint_id = p.id AND status IN ('pending', 'held') AND next_attempt_at IS NOT NULL LIMIT :limit
    ) out_of_sync
    WHERE ${renderOpenStatus('p')} = '${status}'
    LIMIT :limit
  ) counted
)`

export const countOpenDeliveries = statement<{ pending: number; held: number }>('count-open-deliveries')`
  SELECT ${countOpen('pending')} AS pending, ${countOpen('held')} AS held`

const readOldestFanOut = statement<{ seconds: number }>('oldest-fan-out')`
  SELECT greatest(0, extract(epoch FROM clock_timestamp() - queued_at))::float8 AS seconds
  FROM fan_out_queue ORDER BY queued_at LIMIT 1`

/** Registers the metrics of webhooks or of notifications. */
export const createDeliveryMetrics = (deps: {
  kind: 'webhook' | 'notification'
  metrics: Metrics
  queue: Database
  /** The length of a claim in milliseconds. */
  claimMs: number
  clock: Clock
  logger: Logger
}) => {
  const { kind, metrics, queue, claimMs, clock, logger } = deps
  const registers = [metrics]
  const named = (name: string, help: string) => ({ name: `leadwire_${kind}_${name}`, help, registers })
  const seconds = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Histogram({ ...named(name, help), labelNames, buckets: SECONDS })
  addGauges({ metrics, logger, query: () => countOpenDeliveries(queue, { limit: MAX_COUNT }) }, [
    {
      ...named('deliveries_open', `Pending and held deliveries, by status. Counting stops at ${MAX_COUNT}.`),
      label: 'status',
      of: ([row]) => ({ ...row }),
    },
  ])
  const findDue = async () => {
    const now = clock.now()
    const due = await findDueEndpoints(queue, { from: new Date(0), until: now, claimMs })
    const endpointIds = new Set(due.map(({ endpointId }) => endpointId))
    const oldest = due.reduce((first, { dueAt }) => Math.min(first, dueAt), now.getTime())
    return { count: endpointIds.size, waitedMs: now.getTime() - oldest }
  }
  addGauges({ metrics, logger, query: findDue }, [
    {
      ...named('endpoints_due', 'Endpoints with an attempt that is due and has not started.'),
      of: ({ count }) => count,
    },
    {
      ...named(
        'oldest_due_seconds',
        'How long the oldest due attempt has waited to start; 0 if no attempt waits.',
      ),
      of: ({ waitedMs }) => waitedMs / 1000,
    },
  ])
  addGauges({ metrics, logger, query: () => readOldestFanOut(queue) }, [
    {
      ...named(
        'fan_out_waiting_seconds',
        'How long the oldest stored event has waited for its deliveries to be created; 0 if no event waits.',
      ),
      of: ([row]) => row?.seconds ?? 0,
    },
  ])
  return {
    observe: (name: string, help: string, read: () => number) =>
      addGauges({ metrics, logger, query: async () => read() }, [
        { ...named(name, help), of: (figure) => figure },
      ]),
    eventsTaken: new Counter(
      named('events_taken_total', 'Messages whose event was stored, duplicates included.'),
    ),
    eventsRefused: new Counter(
      named('events_refused_total', 'Messages without a valid event, duplicates included.'),
    ),
    attempts: new Counter({
      ...named('attempts_total', 'Attempts by outcome: delivered, or the class of the failure.'),
      labelNames: ['outcome'],
    }),
    attemptSeconds: seconds('attempt_seconds', 'How long attempts took, by outcome.', ['outcome']),
    firstAttemptSeconds: seconds(
      'first_attempt_delay_seconds',
      'Time from storing an event to the start of its first attempt.',
    ),
    latenessSeconds: seconds('lateness_seconds', 'Time between when an attempt was due and when it started.'),
    inFlight: new Gauge(named('attempts_in_flight', 'Attempts in flight.')),
  }
}

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>
