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

/** A look-up for several metrics of one scrape: who asks while it is under way gets the same. */
export const lookUpOnce = <Found>(lookUp: () => Promise<Found>): (() => Promise<Found>) => {
  let underWay: Promise<Found> | undefined
  return () => {
    underWay ??= lookUp().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}
