import { setTimeout as pause } from 'node:timers/promises'
import { Counter, Gauge } from 'prom-client'
import type { Loops } from '../process/loops'
import type { Metrics } from '../process/metrics'
import type { Transaction } from './database'
import { statement } from './statement'

/** How many rows a batch removed, and whether more may be old enough. */
export interface Pruned {
  rows: number
  more: boolean
}

interface Prunable {
  batch: () => Promise<Pruned>
  /** The age in seconds of the oldest that is kept. */
  oldestAge?: () => Promise<number>
  runsApartMs?: number
}

const RUN_EVERY_MS = 60_000
/** Between two batches, so that other statements are served. */
const BATCH_PAUSE_MS = 100

/** Returns the function that has rows pruned every minute. `batch` skips what another copy of the service removes. */
export const startPruning = ({ loops, metrics }: { loops: Loops; metrics: Metrics }) => {
  const labels = { labelNames: ['rows'], registers: [metrics] }
  const pruned = new Counter({
    ...{ name: 'leadwire_pruned_rows_total', ...labels },
    help: 'Rows that were removed because they were old, by what they are.',
  })
  const lastRun = new Gauge({
    ...{ name: 'leadwire_pruning_last_run_timestamp_seconds', ...labels },
    help: 'When this copy last found no more rows to remove, or started, by what they are.',
  })
  const oldest = new Gauge({
    ...{ name: 'leadwire_pruning_oldest_seconds', ...labels },
    help: 'Age of the oldest of the rows that are removed when they are old, at the last run; 0 when there are none.',
  })
  return (rows: string, { batch, oldestAge, runsApartMs = RUN_EVERY_MS }: Prunable): void => {
    // Without it the alert would not see that no run is ever completed.
    lastRun.set({ rows }, Date.now() / 1000 - process.uptime())
    loops.run(`old ${rows}`, runsApartMs, async () => {
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
}

const KEYS_AT_ONCE = 1000

// Each service has this table in its own database. now(), because the index can't bound a search by clock_timestamp().
const deleteKeys = statement('delete-old-keys')`
  DELETE FROM public.idempotency_keys WHERE (token_id, key) IN (
    SELECT token_id, key FROM public.idempotency_keys
    WHERE created_at < now() - $1::bigint * interval '1 ms'
    ORDER BY created_at LIMIT ${KEYS_AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING token_id`

const oldestKey = statement<{ age: number }>('oldest-key')`
  SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 AS age
  FROM public.idempotency_keys ORDER BY created_at LIMIT 1`

export const oldKeys = (database: Transaction, keptMs: number) => ({
  batch: async (): Promise<Pruned> => {
    const { length: rows } = await deleteKeys(database, keptMs)
    return { rows, more: rows === KEYS_AT_ONCE }
  },
  oldestAge: async (): Promise<number> => (await oldestKey(database))[0]?.age ?? 0,
})
