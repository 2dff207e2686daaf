import type { Transaction } from '@leadwire/service-kit'

/** Where due times, claims and attempts take their time from. */
export interface Clock {
  now(): Date
}

/** How often the database is asked for its time. */
export const READ_CLOCK_EVERY_MS = 5000
const READINGS = 6

/**
 * The database's clock, which all copies share: one whose machine is ahead attempts nothing early. The machine's monotonic clock
 * carries it from one reading to the next. It is never ahead of the database's: a reading counts from the moment its answer
 * is here, and of the last six the latest is believed, whose answer came quickest.
 */
export const createDatabaseClock = async (
  database: Transaction,
): Promise<Clock & { read(): Promise<void> }> => {
  const readings: number[] = []
  const read = async () => {
    const text = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms'
    const [row] = await database.query<{ ms: number }>({ name: 'read-clock', text })
    readings.push(row!.ms - performance.now())
    if (readings.length > READINGS) readings.shift()
  }
  await read()
  return { now: () => new Date(performance.now() + Math.max(...readings)), read }
}
