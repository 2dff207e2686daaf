import { addGauges, type Database, type Logger, type Metrics } from '@leadwire/service-kit'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Clock } from '../clock'
import { openAt } from '../delivery-sql'
import { statement } from '../statement'
import { findDueEndpoints } from './find-due-endpoints'

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

/** How many deliveries are open, by status; `$1` at most. */
export const countOpenDeliveries = statement<{ pending: number; held: number }>('count-open-deliveries')`
  SELECT ${countOpen('pending')} AS pending, ${countOpen('held')} AS held`

interface Dependencies {
  /** Part of each metric's name. */
  kind: 'webhook' | 'notification'
  metrics: Metrics
  queue: Database
  clock: Clock
  logger: Logger
}

/** Adds the metrics that are read from the database at each scrape. */
const addBacklog = ({ kind, queue, clock, ...deps }: Dependencies): void => {
  addGauges({ ...deps, query: () => countOpenDeliveries(queue, MAX_COUNT) }, [
    {
      name: `leadwire_${kind}_deliveries_open`,
      help: `Deliveries that are not at their end, by status; ${MAX_COUNT} stands for as many or more.`,
      label: 'status',
      of: ([row]) => ({ ...row }),
    },
  ])
  const findDue = async () => {
    const now = clock.now()
    const due = await findDueEndpoints(queue, now)
    const oldest = due.reduce((oldest, { dueAt }) => Math.min(oldest, dueAt), now.getTime())
    return { count: due.length, oldestMs: now.getTime() - oldest }
  }
  addGauges({ ...deps, query: findDue }, [
    {
      name: `leadwire_${kind}_endpoints_due`,
      help: 'Endpoints with an attempt that is due and has not started.',
      of: ({ count }) => count,
    },
    {
      name: `leadwire_${kind}_oldest_due_seconds`,
      help: 'How long the oldest attempt that is due has waited to start; 0 when none waits.',
      of: ({ oldestMs }) => oldestMs / 1000,
    },
  ])
}

/** The metrics of the deliveries of one kind. */
export const createDeliveryMetrics = (deps: Dependencies) => {
  const registers = [deps.metrics]
  const prefix = `leadwire_${deps.kind}`
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name: `${prefix}_${name}`, help, labelNames, registers })
  const seconds = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Histogram({ name: `${prefix}_${name}`, help, labelNames, buckets: SECONDS, registers })
  const observed = (name: string, help: string, read: () => number): void =>
    void new Gauge({
      ...{ name: `${prefix}_${name}`, help, registers },
      collect() {
        this.set(read())
      },
    })
  addBacklog(deps)
  return {
    observeBodies: (bytes: () => number) =>
      observed(
        'bodies_in_hand_bytes',
        'Large bodies of attempts in flight; one for all deliveries of an event.',
        bytes,
      ),
    observeSlots: ({ inUse, all }: { inUse: () => number; all: number }): void => {
      observed('slots', 'Slots of attempts: so many may have one at the same time.', () => all)
      observed('slots_in_use', 'Slots in use. An attempt that only waits for its receiver has none.', inUse)
    },
    eventsTaken: counter('events_taken_total', 'Events stored with their fan-out, repetitions included.'),
    eventsRefused: counter('events_refused_total', 'Messages that are no valid event, repetitions included.'),
    attempts: counter('attempts_total', 'Attempts by outcome: delivered, or the class of the failure.', [
      'outcome',
    ]),
    attemptSeconds: seconds('attempt_seconds', 'How long attempts took, by outcome.', ['outcome']),
    firstAttemptSeconds: seconds(
      'first_attempt_delay_seconds',
      'From the storing of an event to the start of a first attempt.',
    ),
    latenessSeconds: seconds('lateness_seconds', 'From the time an attempt was due to its start.'),
    inFlight: new Gauge({ name: `${prefix}_attempts_in_flight`, help: 'Attempts in flight.', registers }),
  }
}

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>
