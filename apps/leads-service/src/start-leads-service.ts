import { WebhooksServiceDefinition } from '@leadwire/contracts'
import {
  addPoolMetrics,
  connectDatabase,
  connectGrpc,
  connectNats,
  createBatcherMeters,
  createGrpcServer,
  createLoops,
  createMetrics,
  createSealer,
  databaseServer,
  type HealthCheck,
  oldKeys,
  type ServiceContext,
  startHealthServer,
  startPruning,
  watchTls,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import { addLeadsService } from './add-leads-service'
import { deleteUnnamedFiles } from './attachments/delete-unnamed-files'
import { connectFilesService } from './attachments/files-service'
import type { Config } from './config'
import { migrateDatabase } from './database/migrations'
import { deleteOnce } from './jobs/delete/run-account-deletions'
import { confirmOnce } from './jobs/erase/confirm-erasures'
import { eraseOnce } from './jobs/erase/run-erasures'
import { oldImports } from './jobs/import/old-imports'
import { reconcileInTurn } from './jobs/reconcile/reconcile'
import { addReconciliationMetrics } from './jobs/reconcile/reconciliation-metrics'
import { startSearch } from './jobs/search/start-search'
import { createNotifyContacts } from './notifications/notify-contacts'
import { createDeleteMessage } from './outbox/delete-message'
import { addOutboxMetrics, createPublishMetrics } from './outbox/outbox-metrics'
import { createPublisher } from './outbox/publish'
import type { OutboxEvent } from './outbox/record-events'
import { type Outbox, startOutbox } from './outbox/start-outbox'
import { createFindPosition } from './outbox/stream-position'
import { deleteExpiredTokens } from './tokens/tokens'

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
  const caller = {
    lifecycle,
    tokens: () => config.SERVICE_TOKEN,
    tls: watchTls(config, { lifecycle, logger }),
  }
  const database = connectDatabase({
    ...{ ...databaseServer(config), name: 'leads', poolSize: config.DATABASE_POOL_SIZE, lifecycle },
  })
  addPoolMetrics(metrics)
  let serving = false
  const checks: HealthCheck[] = [
    { name: 'postgres', check: () => database.query({ text: 'SELECT 1' }) },
    { name: 'start', check: async () => (serving ? undefined : Promise.reject(new Error('starting'))) },
  ]
  addOutboxMetrics({ metrics, database, logger })
  const observePublished = createPublishMetrics(metrics)
  addReconciliationMetrics({ metrics, database, logger })
  await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, metrics, lifecycle, checks })
  await migrateDatabase({ config, logger, lifecycle })

  const webhookService = connectGrpc(config.WEBHOOK_SERVICE_URL, caller)
  const webhooks = webhookService.client(WebhooksServiceDefinition, { deadlineMs: 5000 })
  // NATS may come later: events wait in the outbox, and requests are served meanwhile. What stops it is registered
  // before the server, whenever it comes.
  let outbox: Outbox | undefined
  let nats: NatsConnection | undefined
  const connected = connectNats({ config, name: 'leads-service', logger, lifecycle })
  lifecycle.onStop('outbox', () => outbox?.stop())
  void connected.then((connection) => {
    if (lifecycle.signal.aborted) return
    nats = connection
    outbox = startOutbox({
      ...{ database, logger },
      findStoredEvents: (eventIds, signal) => webhooks.findStoredEvents({ eventIds }, { signal }),
      ...createPublisher(connection, { observe: observePublished, replicas: config.NATS_REPLICAS }),
      findPosition: createFindPosition(connection),
    })
  })

  const { DUPLICATE_WINDOW: duplicateWindowMs } = config
  const onIndexed = (events: OutboxEvent[]) => outbox?.enqueue(events)
  const search = startSearch({ database, logger, duplicateWindowMs, onCommitted: onIndexed })
  lifecycle.onStop('search', search.stop)

  const loops = createLoops(logger)
  // Where everything is stopped at once, webhook-service may be gone before this service: a drain does not wait for its answers.
  const elsewhere = {
    ...{ database, logger, deleteMessage: createDeleteMessage(() => nats) },
    ...connectFilesService({ urls: config.FILES_SERVICE_URL, ...caller }),
    webhooks: webhookService.client(WebhooksServiceDefinition, { deadlineMs: 5000, signal: loops.signal }),
  }
  loops.run('contacts', 60_000, createNotifyContacts(elsewhere))
  const prune = startPruning({ loops, metrics })
  prune('idempotency_keys', oldKeys(database, config.IDEMPOTENCY_RETENTION))
  prune('imports', oldImports(database))
  prune('tokens', { batch: () => deleteExpiredTokens(database) })
  const unnamedFiles = () => deleteUnnamedFiles({ ...elsewhere, signal: lifecycle.signal })
  prune('files', { batch: unnamedFiles, runsApartMs: 3_600_000 })
  const wakeConfirm = loops.run('erasure receivers', { pauseMs: 500 }, () => confirmOnce(elsewhere))
  const wakeErasures = loops.run('erasures', { pauseMs: 500 }, async () => {
    const round = await eraseOnce(elsewhere)
    if (round !== false) wakeConfirm()
    return round
  })
  loops.run('account deletions', { pauseMs: 1000 }, () => deleteOnce(elsewhere))
  const { RECONCILE_INTERVAL: intervalMs } = config
  if (Number.isFinite(intervalMs))
    loops.run('reconciliation', Math.min(15_000, intervalMs), () =>
      reconcileInTurn(elsewhere, { intervalMs, signal: lifecycle.signal }),
    )
  lifecycle.onStop('loops', loops.stop)

  const grpcServer = createGrpcServer({ ...caller, logger, checks, metrics })
  const { LEAD_MAX_QUOTES: maxQuotes, LEAD_MAX_ITEMS: maxItems, EVENT_MAX_BYTES: maxEventBytes } = config
  addLeadsService(grpcServer, {
    ...{ database, webhooks, logger, draining: lifecycle.signal, wakeErasures, duplicateWindowMs },
    assetsUrl: config.ASSETS_URL,
    limits: { maxQuotes, maxItems, maxEventBytes },
    meters: createBatcherMeters(metrics),
    sealer: createSealer(config.ENCRYPTION_KEYS),
    backupRetentionDays: config.BACKUP_RETENTION_DAYS,
    onCommitted: (events) => {
      outbox?.enqueue(events)
      search.enqueue(events.filter(({ type }) => type === 'lead.created'))
    },
  })
  const grpcPort = await grpcServer.listen({ host: config.HOST, port: config.GRPC_PORT })
  serving = true
  return { grpcPort }
}
