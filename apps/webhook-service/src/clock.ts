import type { Transaction } from '@leadwire/service-kit'
import { statement } from './statement'

export interface Clock {
  now(): Date
}

export const READ_CLOCK_EVERY_MS = 5000
const SAMPLES = 6

const readClock = statement<{ ms: number }>('read-clock')`
  SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms`

/**
 * The database's clock, which all processes share: one whose machine is ahead attempts nothing early. The machine's monotonic clock
 * carries it between reads. It is never ahead of the database's: a sample counts from the moment its answer arrives, and of the
 * last six the one with the shortest round trip is used.
 */
export const createDatabaseClock = async (
  database: Transaction,
): Promise<Clock & { read(): Promise<void> }> => {
  const samples: number[] = []
  const read = async () => {
    const [row] = await readClock(database)
    samples.push(row!.ms - performance.now())
    if (samples.length > SAMPLES) samples.shift()
  }
  await read()
  return { now: () => new Date(performance.now() + Math.max(...samples)), read }
}
