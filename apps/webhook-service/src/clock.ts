import { statement, type Transaction } from '@leadwire/service-kit'

export interface Clock {
  now(): Date
}

export const microseconds = (instant: Date): string => instant.toISOString().replace('Z', '000Z')

export const READ_CLOCK_EVERY_MS = 5000
const SAMPLES = 6

const readClock = statement<{ ms: number }>('read-clock')`
  SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms`

/**
 * The database's clock, shared by all processes, so that a machine that is ahead attempts nothing early. Of the last six samples the
 * one with the shortest round trip counts, from the moment its answer arrived: it is never ahead of the database's.
 */
export const createDatabaseClock = async (database: Transaction) => {
  const samples: number[] = []
  const read = async () => {
    const [row] = await readClock(database)
    samples.push(row!.ms - performance.now())
    if (samples.length > SAMPLES) samples.shift()
  }
  await read()
  return { now: () => new Date(performance.now() + Math.max(...samples)), read }
}
