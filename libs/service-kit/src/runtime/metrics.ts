import { collectDefaultMetrics, Registry } from 'prom-client'

export type Metrics = Registry

/** A registry with the process's own metrics, and the service's name on each. */
export const createMetrics = (service: string): Metrics => {
  const registry = new Registry()
  registry.setDefaultLabels({ service })
  collectDefaultMetrics({ register: registry })
  return registry
}
