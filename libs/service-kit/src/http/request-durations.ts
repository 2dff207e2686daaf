import { Histogram } from 'prom-client'
import type { Metrics } from '../runtime/metrics'

/** A request that was answered. `route` is the pattern, never the address: addresses would make a series each. */
interface Answered {
  method: string
  route: string
  status: number
}

/** Makes the function that is told of each HTTP request, and how many milliseconds it took. */
export const createRequestDurations = (metrics: Metrics) => {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the request line to the last byte of the answer, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300],
    registers: [metrics],
  })
  return ({ method, route, status }: Answered, milliseconds: number): void =>
    durations.observe({ method, route, status }, milliseconds / 1000)
}
