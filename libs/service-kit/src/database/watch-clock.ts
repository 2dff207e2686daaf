import { Gauge } from 'prom-client'
import type { Logger } from '../process/logger'
import type { Round } from '../process/loops'
import type { Metrics } from '../process/metrics'
import type { Transaction } from './database'
import { statement } from './statement'

/** How often a service compares its clock with PostgreSQL's. */
export const WATCH_CLOCK_EVERY_MS = 30_000

/**
 * The difference of the clocks, in seconds, above which a warning is logged. It is well below the five
 * minutes at which receivers refuse the timestamp of a webhook.
 */
const MOST_SECONDS = 60

const readClock = statement<{ seconds: number }>('read-database-clock')`
  SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds`

/**
 * Makes the function that compares the clock of this process with PostgreSQL's and sets the metric
 * `leadwire_clock_difference_seconds`. The function logs a warning when the clocks begin to differ by more
 * than a minute, and a line when they agree again. `now` replaces the clock of this process, in milliseconds
 * since the epoch.
 */
export const createClockWatch = (options: {
  database: Transaction
  metrics: Metrics
  logger: Logger
  now?: () => number
}): (() => Promise<Round>) => {
  const { database, metrics, logger, now = Date.now } = options
  const gauge = new Gauge({
    name: 'leadwire_clock_difference_seconds',
    help: 'How far the clock of this process is ahead of the clock of PostgreSQL. Negative if the clock is behind.',
    registers: [metrics],
  })
  let differs = false
  return async () => {
    const sentAt = performance.now()
    const [row] = await readClock(database)
    const roundTripMs = performance.now() - sentAt
    // PostgreSQL read its clock about half the round trip ago.
    const difference = (now() - roundTripMs / 2) / 1000 - row!.seconds
    gauge.set(difference)
    const differed = differs
    differs = Math.abs(difference) > MOST_SECONDS
    if (differs && !differed)
      logger.warn({ seconds: difference }, 'the clocks of this process and of PostgreSQL differ')
    if (differed && !differs)
      logger.info({ seconds: difference }, 'the clocks of this process and of PostgreSQL agree again')
    return false
  }
}
