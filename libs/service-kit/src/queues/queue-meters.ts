import { Counter, Gauge, Histogram } from 'prom-client'
import type { Metrics } from '../process/metrics'

/** Makes the meters of batchers and fair queues. Meters with the same name are summed. */
export const createBatcherMeters = (metrics: Metrics) => {
  const labelNames = ['batcher']
  const registers = [metrics]
  const watched: { batcher: string; waiting: () => number }[] = []
  new Gauge({
    name: 'leadwire_batch_waiting',
    help: 'Items that wait for the next batch, by kind.',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const { batcher, waiting } of watched) this.inc({ batcher }, waiting())
    },
  })
  const sizes = new Histogram({
    name: 'leadwire_batch_items',
    help: 'Items of each batch.',
    labelNames,
    registers,
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
  })
  const refusals = new Counter({
    name: 'leadwire_batch_refused_total',
    help: 'Items that were refused because too many waited, or because they waited too long.',
    labelNames,
    registers,
  })
  return (batcher: string) => {
    refusals.inc({ batcher }, 0)
    return {
      /** Registers the function that counts waiting items. */
      watch: (waiting: () => number): void => void watched.push({ batcher, waiting }),
      sent: (items: number): void => sizes.observe({ batcher }, items),
      refused: (): void => refusals.inc({ batcher }),
    }
  }
}

export type BatcherMeters = ReturnType<typeof createBatcherMeters>
export type BatcherMeter = ReturnType<BatcherMeters>
