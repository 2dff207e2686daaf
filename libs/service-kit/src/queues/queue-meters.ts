import { Counter, Gauge, Histogram } from 'prom-client'
import type { Metrics } from '../process/metrics'

/** Batchers and fair queues with the same name are summed. */
export const createBatcherMeters = (metrics: Metrics) => {
  const labels = { labelNames: ['gather'], registers: [metrics] }
  const watched: { gather: string; waiting: () => number }[] = []
  new Gauge({
    ...{ name: 'leadwire_gather_waiting', ...labels },
    help: 'Items that wait for the next batch, by what they are.',
    collect() {
      this.reset()
      for (const { gather, waiting } of watched) this.inc({ gather }, waiting())
    },
  })
  const sizes = new Histogram({
    ...{ name: 'leadwire_gather_batch_items', ...labels },
    help: 'Items of each batch.',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
  })
  const refusals = new Counter({
    ...{ name: 'leadwire_gather_refused_total', ...labels },
    help: 'Items that were refused because too many waited.',
  })
  return (gather: string) => {
    refusals.inc({ gather }, 0)
    return {
      watch: (waiting: () => number): void => void watched.push({ gather, waiting }),
      sent: (items: number): void => sizes.observe({ gather }, items),
      refused: (): void => refusals.inc({ gather }),
    }
  }
}

export type BatcherMeters = ReturnType<typeof createBatcherMeters>
export type BatcherMeter = ReturnType<BatcherMeters>
