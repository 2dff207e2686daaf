import { setTimeout as pause } from 'node:timers/promises'
import { Counter, Gauge } from 'prom-client'
import type { Loops } from '../process/loops'
import type { Metrics } from '../process/metrics'

/** What one portion came to: how many rows went, and whether more may be old enough. */
export interface Pruned {
  rows: number
  more: boolean
}

/** A kind of rows, or of something else, that is removed when it is old. */
interface Prunable {
  portion: () => Promise<Pruned>
  /** The age in seconds of the oldest that is kept. */
  oldestAge?: () => Promise<number>
  runsApartMs?: number
}

const RUNS_APART_MS = 60_000
/** Between two portions others have the database to themselves. */
const PORTIONS_APART_MS = 100

/**
 * Makes the function that has a kind of rows pruned, portion by portion, every minute. `portion` leaves alone what another copy of the
 * service is at.
 */
export const startPruning = ({ loops, metrics }: { loops: Loops; metrics: Metrics }) => {
  const registers = [metrics]
  const labelNames = ['rows'] as const
  const pruned = new Counter({
    ...{ name: 'leadwire_pruned_rows_total', labelNames, registers },
    help: 'Rows that were removed because they were old, by what they are.',
  })
  const lastRun = new Gauge({
    ...{ name: 'leadwire_pruning_last_run_timestamp_seconds', labelNames, registers },
    help: 'When this copy last found no more rows to remove, by what they are.',
  })
  const oldest = new Gauge({
    ...{ name: 'leadwire_pruning_oldest_seconds', labelNames, registers },
    help: 'Age of the oldest of the rows that are removed when they are old, at the last run; 0 when there are none.',
  })
  return (rows: string, { portion, oldestAge, runsApartMs = RUNS_APART_MS }: Prunable): void =>
    void loops.run(`old ${rows}`, runsApartMs, async () => {
      const result = await portion()
      pruned.inc({ rows }, result.rows)
      if (result.more) {
        await pause(PORTIONS_APART_MS)
        return true
      }
      if (oldestAge) oldest.set({ rows }, await oldestAge())
      lastRun.setToCurrentTime({ rows })
      return false
    })
}
