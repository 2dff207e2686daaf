import { setTimeout as pause } from 'node:timers/promises'
import {
  type HealthDefinition,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '@leadwire/contracts'
import { ServerError, type ServiceImplementation, Status } from 'nice-grpc'
import { type HealthCheck, listFailedChecks } from '../process/health'
import type { Lifecycle } from '../process/lifecycle'

const WATCHED_EVERY_MS = 1000

/**
 * Makes the standard health service (grpc.health.v1). A watch ends when a drain starts, because the drain
 * would otherwise wait for the watch.
 */
export const healthService = (
  services: ReadonlySet<string>,
  checks: HealthCheck[],
  lifecycle: Lifecycle,
): ServiceImplementation<typeof HealthDefinition> => {
  const checkStatus = async (service: string) => {
    if (service !== '' && !services.has(service)) return ServingStatus.SERVICE_UNKNOWN
    const missing = await listFailedChecks(checks, lifecycle)
    return missing.length === 0 ? ServingStatus.SERVING : ServingStatus.NOT_SERVING
  }
  return {
    check: async ({ service }) => {
      const status = await checkStatus(service)
      if (status === ServingStatus.SERVICE_UNKNOWN) throw new ServerError(Status.NOT_FOUND, 'unknown service')
      return { status }
    },
    async *watch({ service }, { signal }) {
      const ends = AbortSignal.any([signal, lifecycle.signal])
      let last: ServingStatus | undefined
      for (let isLast = false; !isLast; ) {
        isLast = ends.aborted
        const status = await checkStatus(service)
        if (status !== last) yield { status }
        last = status
        await pause(WATCHED_EVERY_MS, undefined, { signal: ends }).catch(() => undefined)
      }
    },
  }
}
