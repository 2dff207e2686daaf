import { requirePart, statement, type Transaction, whenValid } from '@leadwire/service-kit'

export interface Clock {
  now(): Date
}

/**
 * Renders a time in ISO 8601 with six decimals of a second, the format of times that are read from
 * PostgreSQL.
 */
export const microseconds = (instant: Date): string => instant.toISOString().replace('Z', '000Z')

export const READ_CLOCK_EVERY_MS = 5000
const SAMPLES = 6

const readClock = statement<{ ms: number }>('read-clock')`
  SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms`

/**
 * Creates a clock that shows the time of the database, so that a machine whose clock is fast starts no
 * attempt early. `read` takes a new sample of the database's time. A sample is too low by the duration of its
 * response. So the clock uses the highest of the last six samples. The clock may lag behind the database by
 * the duration of the fastest response, but is never ahead of the database.
 */
export const createDatabaseClock = async (database: Transaction) => {
  /** A sample is the time of the database minus the local monotonic time when the response arrived. */
  const samples: number[] = []
  const read = async () => {
    const [row] = await readClock(database)
    samples.push(row!.ms - performance.now())
    if (samples.length > SAMPLES) samples.shift()
  }
  await read()
  return { now: () => new Date(performance.now() + Math.max(...samples)), read }
}

/** Adds milliseconds to a time in ISO 8601. Throws `bad_request` if the text is not a time. */
export const addMilliseconds = (instant: string, ms: number): string =>
  requirePart(
    whenValid(() => new Date(Date.parse(instant) + ms).toISOString()),
    'readable time',
  )
