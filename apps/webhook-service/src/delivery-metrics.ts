import { type Database, type Logger, lookUpOnce, type Metrics } from '@leadwire/service-kit'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Clock } from './clock'
import { openAt } from './endpoints/shown-status'
import { findDueEndpoints } from './sending/find-due-endpoints'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** A count stops here: a scrape costs milliseconds, whatever has piled up. */
const COUNTED_AT_MOST = 100_000

// The rows of endpoints that wait to be settled say nothing yet: the index is read past them, and they count by what
// their endpoints are.
const countOpen = (status: 'pending' | 'held') => `(
  SELECT count(*) FROM (
    SELECT FROM (
      SELECT coalesce(lag(endpoint_id) OVER (ORDER BY endpoint_id), 0) AS after, endpoint_id AS before FROM unsettled_endpoints
      UNION ALL
      SELECT coalesce(max(endpoint_id), 0), ${Number.MAX_SAFE_INTEGER} FROM unsettled_endpoints
    ) gap CROSS JOIN LATERAL (
      SELECT FROM deliveries
      WHERE status = '${status}' AND next_attempt_at IS NOT NULL AND endpoint_id > gap.after AND endpoint_id < gap.before
      LIMIT $1
    ) settled
    UNION ALL
    SELECT FROM unsettled_endpoints u JOIN endpoints p ON p.id = u.endpoint_id CROSS JOIN LATERAL (
      SELECT FROM deliveries
      WHERE endpoint_id = p.id AND status IN ('pending', 'held') AND next_attempt_at IS NOT NULL LIMIT $1
    ) unsettled
    WHERE ${openAt('p')} = '${status}'
    LIMIT $1
  ) counted
)`

/** How many deliveries are open, by status; `$1` at most. */
export const COUNT_OPEN = `SELECT ${countOpen('pending')} AS pending, ${countOpen('held')} AS held`

interface Dependencies {
  /** Part of each metric's name. */
  kind: 'webhook' | 'notification'
  metrics: Metrics
  queue: Database
  clock: Clock
  logger: Logger
}

/** Adds the figures that are looked up in the database when somebody asks. */
const addLookUps = ({ kind, metrics, queue, clock, logger }: Dependencies): void => {
  const add = (name: string, help: string, labelNames: string[], lookUp: (gauge: Gauge) => Promise<void>) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [metrics] },
      async collect() {
        try {
          await lookUp(this)
        } catch (error) {
          // The other figures are worth more than an error: one that can't be looked up keeps the value it had.
          logger.warn({ err: error, metric: name }, 'could not look up a metric')
        }
      },
    })
  add(
    `leadwire_${kind}_deliveries_open`,
    `Deliveries that are not at their end, by status; ${COUNTED_AT_MOST} stands for as many or more.`,
    ['status'],
    async (gauge) => {
      const query = { name: 'count-open-deliveries', text: COUNT_OPEN, values: [COUNTED_AT_MOST] }
      const [row] = await queue.query<{ pending: number; held: number }>(query)
      for (const [status, count] of Object.entries(row ?? {})) gauge.set({ status }, count)
    },
  )
  const findDue = lookUpOnce(async () => {
    const now = clock.now()
    return { now, due: await findDueEndpoints(queue, now) }
  })
  add(
    `leadwire_${kind}_endpoints_due`,
    'Endpoints that have an attempt which is due and waits for somebody to begin it.',
    [],
    async (gauge) => gauge.set((await findDue()).due.length),
  )
  add(
    `leadwire_${kind}_oldest_due_seconds`,
    'How long the attempt that is due longest has waited for somebody to begin it; 0 when none waits.',
    [],
    async (gauge) => {
      const { now, due } = await findDue()
      const oldest = due.reduce((earliest, { dueAt }) => Math.min(earliest, dueAt), now.getTime())
      gauge.set((now.getTime() - oldest) / 1000)
    },
  )
}

/** What is counted and timed about deliveries of a kind. What waits is looked up in the database, when somebody asks. */
export const createDeliveryMetrics = (deps: Dependencies) => {
  const registers = [deps.metrics]
  const prefix = `leadwire_${deps.kind}`
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers })
  const seconds = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Histogram({ name, help, labelNames, buckets: SECONDS, registers })
  addLookUps(deps)
  return {
    observeBodies: (bytesInHand: () => number) =>
      void new Gauge({
        name: `${prefix}_bodies_in_hand_bytes`,
        help: 'Large bodies of the attempts under way; one for all deliveries of an event.',
        registers,
        collect() {
          this.set(bytesInHand())
        },
      }),
    observeSlots: ({ inUse, all }: { inUse: () => number; all: number }): void => {
      new Gauge({
        name: `${prefix}_slots`,
        help: 'Slots of attempts: so many may be at work at once.',
        registers,
      }).set(all)
      new Gauge({
        name: `${prefix}_slots_in_use`,
        help: 'Slots that attempts hold. One that only waits for its receiver holds none.',
        registers,
        collect() {
          this.set(inUse())
        },
      })
    },
    eventsTaken: counter(
      `${prefix}_events_taken_total`,
      'Events stored with their fan-out, repetitions included.',
    ),
    eventsRefused: counter(
      `${prefix}_events_refused_total`,
      'Messages that are no event of this kind, or one with broken parts, repetitions included.',
    ),
    attempts: counter(
      `${prefix}_attempts_total`,
      'Attempts by outcome: delivered, or the class of the failure.',
      ['outcome'],
    ),
    attemptSeconds: seconds(`${prefix}_attempt_seconds`, 'How long attempts took, by outcome.', ['outcome']),
    firstAttemptSeconds: seconds(
      `${prefix}_first_attempt_delay_seconds`,
      'From the storing of an event to the start of a first attempt at it.',
    ),
    latenessSeconds: seconds(`${prefix}_lateness_seconds`, 'From the time an attempt was due to its start.'),
    inFlight: new Gauge({
      name: `${prefix}_attempts_in_flight`,
      help: 'Attempts under way.',
      registers,
    }),
  }
}

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>
