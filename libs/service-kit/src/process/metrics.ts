import { collectDefaultMetrics, Registry } from 'prom-client'

export type Metrics = Registry

/** A registry with the process's own metrics, and the service's name on each. */
export const createMetrics = (service: string): Metrics => {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  // The default of 10 ms wakes each process a hundred times a second, for 5 ms of processor time. An alert starts at 500 ms.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 250 })
  return registry
}

/** Shares one query among the metrics of a scrape: calls while it is in flight get the same result. */
export const sharedQuery = <Found>(query: () => Promise<Found>): (() => Promise<Found>) => {
  let inFlight: Promise<Found> | undefined
  return () => {
    inFlight ??= query().finally(() => {
      inFlight = undefined
    })
    return inFlight
  }
}
