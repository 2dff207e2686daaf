import type { Logger, Metrics } from '@leadwire/service-kit'
import { Gauge } from 'prom-client'

/** Adds a gauge that `read` sets at each scrape. When that fails, the scrape goes on, and the gauge keeps its last value. */
export const addGauge = (
  options: { name: string; help: string; labelNames?: string[]; registers: Metrics[]; logger: Logger },
  read: (gauge: Gauge) => unknown,
): void => {
  const { logger, ...gauge } = options
  new Gauge({
    ...gauge,
    async collect() {
      try {
        await read(this)
      } catch (error) {
        logger.warn({ err: error, metric: gauge.name }, 'could not read a metric')
      }
    },
  })
}
