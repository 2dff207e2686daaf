import { addGauges, type Database, type Logger, type Metrics, statement } from '@leadwire/service-kit'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Clock } from '../clock'
import { openAt } from '../delivery-sql'
import { findDueEndpoints } from './due-endpoints'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Counts stop here: a scrape costs milliseconds, whatever the backlog. */
const MAX_COUNT = 100_000

// The deliveries of endpoints that are out of sync count by the state of their endpoints; the index is read around them.
const countOpen = (status: 'pending' | 'held') => `(
  SELECT count(*) FROM (
    SELECT FROM (
      SELECT coalesce(lag(endpoint_id) OVER (ORDER BY endpoint_id), 0) AS after, endpoint_id AS before FROM endpoint_syncs
      UNION ALL
      SELECT coalesce(max(endpoint_id), 0), ${Number.MAX_SAFE_INTEGER} FROM endpoint_syncs
    ) gap CROSS JOIN LATERAL (
      SELECT FROM deliveries
      WHERE status = '${status}' AND next_attempt_at IS NOT NULL AND endpoint_id > gap.after AND endpoint_id < gap.before
      LIMIT $1
    ) in_sync
    UNION ALL
    SELECT FROM endpoint_syncs s JOIN endpoints p ON p.id = s.endpoint_id CROSS JOIN LATERAL (
      SELECT FROM deliveries
      WHERE endpoint_id = p.id AND status IN ('pending', 'held') AND next_attempt_at IS NOT NULL LIMIT $1
    ) out_of_sync
    WHERE ${openAt('p')} = '${status}'
    LIMIT $1
  ) counted
)`

export const countOpenDeliveries = statement<{ pending: number; held: number }>('count-open-deliveries')`
  SELECT ${countOpen('pending')} AS pending, ${countOpen('held')} AS held`

export const createDeliveryMetrics = (deps: {
  kind: 'webhook' | 'notification'
  metrics: Metrics
  queue: Database
  clock: Clock
  logger: Logger
}) => {
  const { kind, metrics, queue, clock, logger } = deps
  const registers = [metrics]
  const named = (name: string, help: string) => ({ name: `leadwire_${kind}_${name}`, help, registers })
  const seconds = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Histogram({ ...named(name, help), labelNames, buckets: SECONDS })
  addGauges({ metrics, logger, query: () => countOpenDeliveries(queue, MAX_COUNT) }, [
    {
      ...named(
        'deliveries_open',
        `Deliveries that are not at their end, by status; ${MAX_COUNT} stands for as many or more.`,
      ),
      label: 'status',
      of: ([row]) => ({ ...row }),
    },
  ])
  const findDue = async () => {
    const now = clock.now()
    const due = await findDueEndpoints(queue, now, new Date(0))
    const oldest = due.reduce((first, { dueAt }) => Math.min(first, dueAt), now.getTime())
    return { count: new Set(due.map(({ endpointId }) => endpointId)).size, waitedMs: now.getTime() - oldest }
  }
  addGauges({ metrics, logger, query: findDue }, [
    {
      ...named('endpoints_due', 'Endpoints with an attempt that is due and has not started.'),
      of: ({ count }) => count,
    },
    {
      ...named(
        'oldest_due_seconds',
        'How long the oldest attempt that is due has waited to start; 0 when none waits.',
      ),
      of: ({ waitedMs }) => waitedMs / 1000,
    },
  ])
  return {
    observe: (name: string, help: string, read: () => number) =>
      addGauges({ metrics, logger, query: async () => read() }, [
        { ...named(name, help), of: (figure) => figure },
      ]),
    eventsTaken: new Counter(
      named('events_taken_total', 'Events stored with their fan-out, repetitions included.'),
    ),
    eventsRefused: new Counter(
      named('events_refused_total', 'Messages that are no valid event, repetitions included.'),
    ),
    attempts: new Counter({
      ...named('attempts_total', 'Attempts by outcome: delivered, or the class of the failure.'),
      labelNames: ['outcome'],
    }),
    attemptSeconds: seconds('attempt_seconds', 'How long attempts took, by outcome.', ['outcome']),
    firstAttemptSeconds: seconds(
      'first_attempt_delay_seconds',
      'From the storing of an event to the start of a first attempt.',
    ),
    latenessSeconds: seconds('lateness_seconds', 'From the time an attempt was due to its start.'),
    inFlight: new Gauge(named('attempts_in_flight', 'Attempts in flight.')),
  }
}

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>
