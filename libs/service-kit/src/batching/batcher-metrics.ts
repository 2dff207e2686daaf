import { Counter, Gauge, Histogram } from 'prom-client'
import type { Metrics } from '../process/metrics'

/** What a batcher reports. */
export interface BatcherMeter {
  /** Registers the function that returns how many items wait. Each scrape calls it. */
  watch(waiting: () => number): void
  /** A batch with this many items has left. */
  sent(items: number): void
  /** An item was refused because too many wait. */
  refused(): void
}

/** Makes the meter of the batcher with this name. */
export type BatcherMeters = (name: string) => BatcherMeter

/** Adds what batchers report to the metrics. Batchers with the same name are summed. */
export const createBatcherMeters = (metrics: Metrics): BatcherMeters => {
  const registers = [metrics]
  const labelNames = ['gather'] as const
  const watched: { gather: string; waiting: () => number }[] = []
  new Gauge({
    ...{ name: 'leadwire_gather_waiting', labelNames, registers },
    help: 'Items that wait for the next batch, by what they are.',
    collect() {
      this.reset()
      for (const { gather, waiting } of watched) this.inc({ gather }, waiting())
    },
  })
  const sizes = new Histogram({
    ...{ name: 'leadwire_gather_batch_items', labelNames, registers },
    help: 'Items of each batch.',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
  })
  const refusals = new Counter({
    ...{ name: 'leadwire_gather_refused_total', labelNames, registers },
    help: 'Items that were refused because too many waited.',
  })
  return (gather) => {
    const labels = { gather }
    refusals.inc(labels, 0)
    return {
      watch: (waiting) => void watched.push({ gather, waiting }),
      sent: (items) => sizes.observe(labels, items),
      refused: () => refusals.inc(labels),
    }
  }
}
