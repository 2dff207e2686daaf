import { setTimeout as pause } from 'node:timers/promises'
import { Counter, Gauge } from 'prom-client'
import type { Loops } from '../process/loops'
import type { Metrics } from '../process/metrics'

/** How many rows a batch removed, and whether more may be old enough. */
export interface Pruned {
  rows: number
  more: boolean
}

/** Rows or files that are removed when they are old. */
interface Prunable {
  batch: () => Promise<Pruned>
  /** The age in seconds of the oldest that is kept. */
  oldestAge?: () => Promise<number>
  runsApartMs?: number
}

const RUN_EVERY_MS = 60_000
/** Between two batches, so that other statements are served. */
const BATCH_PAUSE_MS = 100

/**
 * Returns the function that has rows pruned every minute, in batches. `batch` removes one, and skips what another copy
 * of the service removes.
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
  return (rows: string, { batch, oldestAge, runsApartMs = RUN_EVERY_MS }: Prunable): void =>
    void loops.run(`old ${rows}`, runsApartMs, async () => {
      const result = await batch()
      pruned.inc({ rows }, result.rows)
      if (result.more) {
        await pause(BATCH_PAUSE_MS)
        return true
      }
      if (oldestAge) oldest.set({ rows }, await oldestAge())
      lastRun.setToCurrentTime({ rows })
      return false
    })
}
