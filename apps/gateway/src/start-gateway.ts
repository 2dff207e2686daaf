import assert from 'node:assert/strict'
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
import { createChecks } from './validation/checker'

/** Starts the gateway. It listens last. */
export const startGateway = async (context: ServiceContext<GatewayConfig>): Promise<void> => {
  const { config, logger, lifecycle } = context
  const metrics = createMetrics('gateway')
  const meters = createBatcherMeters(metrics)
  const tls = watchTls(config, { lifecycle, logger })
  const clients = connectClients(config, { tls, lifecycle, meters })
  const worker = startImportWorker({ clients, createCheck: createChecks(config.TIME_ZONE), logger })
  const { wake: wakeImports } = worker
  const gateway = buildGateway({ config, clients, logger, lifecycle, metrics, meters, wakeImports })
  lifecycle.onStop('import worker', () => worker.stop())
  await startHealthServer({
    host: config.HOST,
    port: config.HEALTH_PORT,
    // A gateway that is ready before it listens would get requests that it refuses.
    checks: [...clients.checks, { name: 'http server', check: async () => assert(gateway.server.listening) }],
    metrics,
    lifecycle,
  })
  await gateway.listen({ host: config.HOST, port: config.PORT })
  lifecycle.onStop('http server', async () => {
    await drainHttp(gateway.server)
    await gateway.close()
  })
}
