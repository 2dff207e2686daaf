import { once } from 'node:events'
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

const missingOf = async (checks: HealthCheck[]): Promise<string[]> => {
  const timeout = pause(CHECK_LIMIT_MS, false, { ref: false })
  const succeeds = async ({ check }: HealthCheck) => Promise.race([check().then(() => true), timeout])
  const results = await Promise.all(checks.map((check) => succeeds(check).catch(() => false)))
  return checks.filter((_, index) => !results[index]).map(({ name }) => name)
}

/** The names of failed checks; empty means ready. A drain counts as one. */
export const readinessOf = async (checks: HealthCheck[], { signal }: Lifecycle): Promise<string[]> =>
  signal.aborted ? ['draining'] : missingOf(checks)

/** Serves /healthz, /readyz (503 with what is missing) and /metrics on their own port. It closes last: a drain can be watched. */
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
    help: 'Whether what the service can not serve without is there, 1 or 0.',
    labelNames: ['dependency'],
    registers: [metrics],
    async collect() {
      const missing = await missingOf(checks)
      for (const { name } of checks) this.set({ dependency: name }, missing.includes(name) ? 0 : 1)
    },
  })
  const answerOf = async (path: string | undefined): Promise<[status: number, body: object]> => {
    if (path === '/' || path === '/healthz') return [200, { status: 'alive' }]
    if (path !== '/readyz') return [404, { status: 'not found' }]
    const missing = await readinessOf(checks, lifecycle)
    return missing.length === 0 ? [200, { status: 'ready' }] : [503, { status: 'not ready', missing }]
  }
  const server = createServer(async ({ url }, response) => {
    if (url === '/metrics')
      return response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.metrics())
    const [status, body] = await answerOf(url)
    return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await once(server.listen(options.port, options.host), 'listening')
  lifecycle.onStop('health server', () => {
    server.closeAllConnections()
    server.close()
  })
}
