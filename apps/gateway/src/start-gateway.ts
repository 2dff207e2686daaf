import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { createChecks } from '@leadwire/requests'
import {
  createBatcherMeters,
  createMetrics,
  drainHttp,
  type ServiceContext,
  startHealthServer,
  watchTls,
} from '@leadwire/service-kit'
import { buildGateway } from './build-gateway'
import { connectClients } from './clients/connect-clients'
import type { GatewayConfig } from './config'
import { startImportWorker } from './imports/import-worker'

/**
 * The name of the check that fails while the file READY_MARKER is missing. `npm start` ignores this check
 * until all services are ready, and then creates the file.
 */
const READY_MARKER_CHECK = 'ready marker'

/** Starts the gateway. The gateway listens only after everything else has started. */
export const startGateway = async (context: ServiceContext<GatewayConfig>): Promise<void> => {
  const { config, logger, lifecycle } = context
  const metrics = createMetrics('gateway')
  const meters = createBatcherMeters(metrics)
  const tls = watchTls(config, { lifecycle, logger })
  const clients = connectClients(config, { tls, lifecycle, meters })
  const { READY_MARKER: readyMarker } = config
  if (readyMarker !== undefined)
    clients.checks.push({ name: READY_MARKER_CHECK, check: () => access(readyMarker) })
  const worker = startImportWorker({
    clients,
    createCheck: createChecks(config.TIME_ZONE),
    timeZone: config.TIME_ZONE,
    logger,
  })
  const { wake: wakeImports } = worker
  const gateway = buildGateway({ config, clients, logger, lifecycle, metrics, meters, wakeImports })
  lifecycle.onStop('import worker', () => worker.stop())
  await startHealthServer({
    host: config.HOST,
    port: config.HEALTH_PORT,
    // The gateway is not ready until it listens, because until then it refuses all connections.
    checks: [...clients.checks, { name: 'http server', check: async () => assert(gateway.server.listening) }],
    metrics,
    lifecycle,
  })
  if (config.TRUSTED_PROXIES.length === 0)
    logger.info(
      'TRUSTED_PROXIES is not set. If a proxy forwards requests, set TRUSTED_PROXIES to the addresses of the proxy. Until then CAPTURE_RATE counts all visitors together, and forms with files are limited by connection.',
    )
  await gateway.listen({ host: config.HOST, port: config.PORT })
  lifecycle.onStop('http server', async () => {
    await drainHttp(gateway.server)
    await gateway.close()
  })
}
