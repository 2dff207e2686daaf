import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Gauge } from 'prom-client'
import type { Lifecycle } from './lifecycle'
import type { Metrics } from './metrics'

/** A dependency of a service. `check` rejects while the dependency is unavailable. */
export interface HealthCheck {
  name: string
  check: () => Promise<unknown>
}

const CHECK_LIMIT_MS = 1000

const runChecks = async (checks: HealthCheck[]): Promise<string[]> => {
  const timeout = pause(CHECK_LIMIT_MS, false, { ref: false })
  const succeeds = async ({ check }: HealthCheck) => Promise.race([check().then(() => true), timeout])
  const results = await Promise.all(checks.map((check) => succeeds(check).catch(() => false)))
  return checks.filter((_, index) => !results[index]).map(({ name }) => name)
}

/**
 * Returns the names of failed checks. The process is ready if no check has failed. During a drain, returns
 * only `draining`.
 */
export const listFailedChecks = async (checks: HealthCheck[], { signal }: Lifecycle): Promise<string[]> =>
  signal.aborted ? ['draining'] : runChecks(checks)

/**
 * Serves /healthz, /readyz (503 with the names of failed checks) and /metrics on a separate port. Call it
 * before you start the servers that handle requests. The health server then stops after those servers, so
 * that their drain can be watched.
 */
export const startHealthServer = async (options: {
  host: string
  port: number
  checks: HealthCheck[]
  metrics: Metrics
  lifecycle: Lifecycle
}): Promise<void> => {
  const { checks, metrics, lifecycle } = options
  new Gauge({
    name: 'leadwire_dependency_up',
    help: '1 if the dependency is available, 0 if not. The service cannot serve without its dependencies.',
    labelNames: ['dependency'],
    registers: [metrics],
    async collect() {
      const missing = await runChecks(checks)
      for (const { name } of checks) this.set({ dependency: name }, missing.includes(name) ? 0 : 1)
    },
  })
  const respond = async (path: string | undefined): Promise<[status: number, body: object]> => {
    if (path === '/' || path === '/healthz') return [200, { status: 'alive' }]
    if (path !== '/readyz') return [404, { status: 'not found' }]
    const missing = await listFailedChecks(checks, lifecycle)
    return missing.length === 0 ? [200, { status: 'ready' }] : [503, { status: 'not ready', missing }]
  }
  const server = createServer(async ({ url }, response) => {
    if (url === '/metrics')
      return response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.metrics())
    const [status, body] = await respond(url)
    return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await once(server.listen(options.port, options.host), 'listening')
  lifecycle.onStop('health server', () => {
    server.closeAllConnections()
    server.close()
  })
}
