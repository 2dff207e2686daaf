import { WebhooksServiceDefinition } from '@leadwire/contracts'
import {
  connectDatabase,
  connectGrpc,
  connectNats,
  createGrpcServer,
  createMetrics,
  type HealthCheck,
  type ServiceContext,
  startHealthServer,
  untilMigrated,
} from '@leadwire/service-kit'
import { addLeadsService } from './add-leads-service'
import type { Config } from './config'
import { migrations } from './migrations'
import { addOutboxMetrics } from './outbox/outbox-metrics'
import { publishTo } from './outbox/publish'
import { type Outbox, startOutbox } from './outbox/start-outbox'

/**
 * Starts everything in the order in which it is needed. The lifecycle undoes it in reverse: calls are answered, then what
 * they committed is published, then NATS and the database are left. Answers with the port of the gRPC server.
 */
export const startLeadsService = async ({
  config,
  logger,
  lifecycle,
}: ServiceContext<Config>): Promise<{ grpcPort: number }> => {
  const metrics = createMetrics('leads-service')
  const database = connectDatabase({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    lifecycle,
  })
  let serving = false
  const checks: HealthCheck[] = [
    { name: 'postgres', check: () => database.check() },
    { name: 'start', check: async () => (serving ? undefined : Promise.reject(new Error('starting'))) },
  ]
  addOutboxMetrics({ metrics, database, logger })
  await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, metrics, lifecycle, checks })
  await untilMigrated(config.DATABASE_URL, migrations, { signal: lifecycle.signal, logger })

  const webhooks = connectGrpc(config.WEBHOOK_SERVICE_URL, {
    lifecycle,
    tokens: config.SERVICE_TOKEN,
  }).client(WebhooksServiceDefinition, { deadlineMs: 5000 })
  const findHeldEvents = async (eventIds: string[]) => (await webhooks.findHeldEvents({ eventIds })).eventIds
  // NATS may come later: events wait in the outbox, and requests are served meanwhile. What stops it is registered
  // before the server, whenever it comes.
  let outbox: Outbox | undefined
  const connected = connectNats({ url: config.NATS_URL, name: 'leads-service', logger, lifecycle })
  lifecycle.onStop('outbox', () => outbox?.stop())
  void connected.then((connection) => {
    if (lifecycle.draining) return
    outbox = startOutbox({ database, publish: publishTo(connection), findHeldEvents, logger })
  })

  const server = createGrpcServer({ logger, lifecycle, tokens: config.SERVICE_TOKEN, checks })
  addLeadsService(server, {
    database,
    assetsUrl: config.ASSETS_URL.replace(/\/$/, ''),
    limits: {
      maxQuotes: config.LEAD_MAX_QUOTES,
      maxItems: config.LEAD_MAX_ITEMS,
      maxEventBytes: config.EVENT_MAX_BYTES,
    },
    logger,
    draining: lifecycle.signal,
    onCommitted: (events) => outbox?.handOver(events),
  })
  const grpcPort = await server.listen({ host: config.HOST, port: config.GRPC_PORT })
  serving = true
  return { grpcPort }
}
