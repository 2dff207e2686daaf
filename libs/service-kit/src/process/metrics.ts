import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Logger } from './logger'

export type Metrics = Registry

export const createMetrics = (service: string): Metrics => {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  // Measures the event loop's delay every 250 ms, which suffices for the alert at 500 ms. The default of 10
  // ms wakes each process a hundred times a second, which takes 5 ms of processor time a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 250 })
  return registry
}

interface QueriedGauge<Found> {
  name: string
  help: string
  label?: string
  of: (found: Found) => number | Record<string, number>
}

/**
 * Adds gauges whose values one query reads for each scrape. While the query fails, the gauges keep their last
 * values, and only the first failure is logged.
 */
export const addGauges = <Found>(
  { metrics, logger, query }: { metrics: Metrics; logger: Logger; query: () => Promise<Found> },
  gauges: QueriedGauge<Found>[],
): void => {
  let inFlight: Promise<Found | undefined> | undefined
  let failed = false
  const read = async () => {
    try {
      const found = await query()
      failed = false
      return found
    } catch (error) {
      if (!failed) logger.warn({ err: error, metric: gauges[0]!.name }, 'could not read a metric')
      failed = true
      return undefined
    }
  }
  for (const { name, help, label, of } of gauges)
    new Gauge({
      name,
      help,
      labelNames: label ? [label] : [],
      registers: [metrics],
      async collect() {
        // All gauges of a scrape share one query.
        inFlight ??= read().finally(() => {
          inFlight = undefined
        })
        const found = await inFlight
        if (found === undefined) return
        const figures = of(found)
        if (typeof figures === 'number') return this.set(figures)
        for (const [value, figure] of Object.entries(figures)) this.set({ [label!]: value }, figure)
      },
    })
}
