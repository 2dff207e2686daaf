import { setTimeout as pause } from 'node:timers/promises'
import { Counter, Gauge } from 'prom-client'
import type { Loops } from '../process/loops'
import type { Metrics } from '../process/metrics'
import type { Transaction } from './database'
import { statement } from './statement'

/** How many rows a batch removed, and whether more rows may be old enough to be removed. */
export interface Pruned {
  rows: number
  more: boolean
}

interface Prunable {
  batch: () => Promise<Pruned>
  /** Resolves with the age of the oldest remaining row, in seconds. */
  oldestAge?: () => Promise<number>
  runsApartMs?: number
}

const RUN_EVERY_MS = 60_000
/**
 * The pause after a failed run. It is short, because the other service that a run needs may still be
 * starting.
 */
const RETRY_MS = 5000
/** The pause between two batches, so that other statements are served. */
const BATCH_PAUSE_MS = 100

/**
 * Returns a function that starts to prune one kind of row repeatedly, by default every minute. `batch` must
 * skip rows that another copy of the service is removing.
 */
export const startPruning = ({ loops, metrics }: { loops: Loops; metrics: Metrics }) => {
  const labelNames = ['rows']
  const registers = [metrics]
  const pruned = new Counter({
    name: 'leadwire_pruned_rows_total',
    help: 'Old rows that were removed, by kind.',
    labelNames,
    registers,
  })
  const lastRun = new Gauge({
    name: 'leadwire_pruning_last_run_timestamp_seconds',
    help: 'When this copy last found no more rows to remove, by kind of row. Until then, when the copy started.',
    labelNames,
    registers,
  })
  const oldest = new Gauge({
    name: 'leadwire_pruning_oldest_seconds',
    help: 'Age of the oldest remaining row at the last run, by kind; 0 if there are none.',
    labelNames,
    registers,
  })
  return (rows: string, { batch, oldestAge, runsApartMs = RUN_EVERY_MS }: Prunable): void => {
    // Sets the gauge at the start, so that the alert also notices if no run ever completes.
    lastRun.set({ rows }, Date.now() / 1000 - process.uptime())
    let nextRunAt = 0
    loops.run(`old ${rows}`, Math.min(runsApartMs, RETRY_MS), async () => {
      if (performance.now() < nextRunAt) return false
      const result = await batch()
      pruned.inc({ rows }, result.rows)
      if (result.more) {
        await pause(BATCH_PAUSE_MS)
        return true
      }
      if (oldestAge) oldest.set({ rows }, await oldestAge())
      lastRun.setToCurrentTime({ rows })
      nextRunAt = performance.now() + runsApartMs
      return false
    })
  }
}

const KEYS_AT_ONCE = 1000

// Each service has this table in its own database. The statement uses now(), because PostgreSQL cannot bound
// an index scan by clock_timestamp().
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
