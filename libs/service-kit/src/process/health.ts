import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Gauge } from 'prom-client'
import type { Lifecycle } from './lifecycle'
import type { Metrics } from './metrics'

/** Something a service can't serve without. `check` rejects while it is unavailable. */
export interface HealthCheck {
  name: string
  check: () => Promise<unknown>
}

const CHECK_LIMIT_MS = 1000

const succeeds = async ({ check }: HealthCheck): Promise<boolean> => {
  try {
    await check()
    return true
  } catch {
    return false
  }
}

const missingOf = async (checks: HealthCheck[]): Promise<string[]> => {
  const timeout = pause(CHECK_LIMIT_MS, false, { ref: false })
  const results = await Promise.all(checks.map((check) => Promise.race([succeeds(check), timeout])))
  return checks.filter((_, index) => !results[index]).map(({ name }) => name)
}

/** The names of failed checks; empty means ready. A drain counts as one. */
export const readinessOf = async (checks: HealthCheck[], lifecycle: Lifecycle): Promise<string[]> =>
  lifecycle.draining ? ['draining'] : missingOf(checks)

const addDependencies = (checks: HealthCheck[], metrics: Metrics) =>
  new Gauge({
    name: 'leadwire_dependency_up',
    help: 'Whether what the service can not serve without is there, 1 or 0.',
    labelNames: ['dependency'],
    registers: [metrics],
    async collect() {
      const missing = await missingOf(checks)
      for (const { name } of checks) this.set({ dependency: name }, missing.includes(name) ? 0 : 1)
    },
  })

/**
 * Serves /healthz (alive), /readyz (ready, or 503 with what is missing) and /metrics (Prometheus text) on their own port. It closes
 * last, so that a drain can be watched.
 */
export const startHealthServer = async (options: {
  host: string
  port: number
  checks: HealthCheck[]
  metrics: Metrics
  lifecycle: Lifecycle
}): Promise<void> => {
  const { checks, metrics, lifecycle } = options
  addDependencies(checks, metrics)
  const server = createServer(async (request, response) => {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type }).end(body)
    const json = (status: number, body: object) => answer(status, 'application/json', JSON.stringify(body))
    switch (request.url) {
      case '/':
      case '/healthz':
        return json(200, { status: 'alive' })
      case '/readyz': {
        const missing = await readinessOf(checks, lifecycle)
        return missing.length === 0
          ? json(200, { status: 'ready' })
          : json(503, { status: 'not ready', missing })
      }
      case '/metrics':
        return answer(200, metrics.contentType, await metrics.metrics())
      default:
        return json(404, { status: 'not found' })
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  lifecycle.onStop('health server', () => {
    server.closeAllConnections()
    server.close()
  })
}
