import { leadJsonFormat, WebhooksServiceDefinition } from '@leadwire/contracts'
import {
  addPoolMetrics,
  checkDatabase,
  connectDatabase,
  connectGrpc,
  connectNats,
  createBatcherMeters,
  createClockWatch,
  createDeleteMessage,
  createGrpcServer,
  createLoops,
  createMetrics,
  createSealer,
  databaseServer,
  type HealthCheck,
  limitRepeats,
  oldKeys,
  type ServiceContext,
  startHealthServer,
  startPruning,
  WATCH_CLOCK_EVERY_MS,
  watchTls,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import { addLeadsService } from './add-leads-service'
import { deleteUnnamedFiles } from './attachments/delete-unnamed-files'
import { connectFilesService } from './attachments/files-service'
import type { Config } from './config'
import { migrateDatabase } from './database/migrations'
import { deleteOnce } from './jobs/delete/run-account-deletions'
import { createRecordDueEvents } from './jobs/due/record-due-events'
import { databaseTime } from './jobs/elsewhere'
import { eraseOnce } from './jobs/erase/run-erasures'
import { startFigures } from './jobs/figures/start-figures'
import { oldImports } from './jobs/import/old-imports'
import { reconcileInTurn } from './jobs/reconcile/reconcile'
import { addReconciliationMetrics } from './jobs/reconcile/reconciliation-metrics'
import { eraseOldLeads } from './jobs/retention/erase-old-leads'
import { startSearch } from './jobs/search/start-search'
import { createNotifyContacts } from './notifications/notify-contacts'
import { checkOutbox } from './outbox/check-outbox'
import { createHasStreamRoom } from './outbox/has-stream-room'
import { addOutboxMetrics, createPublishMetrics } from './outbox/outbox-metrics'
import { createPublisher, type Publisher } from './outbox/publish-events'
import type { OutboxEvent } from './outbox/record-events'
import { deleteExpiredTokens } from './tokens/tokens'

const CHECK_OUTBOX_EVERY_MS = 1000
const RECORD_DUE_EVENTS_EVERY_MS = 1000

/**
 * Starts each part of the service before the parts that need it. The lifecycle stops the parts in reverse: it
 * waits for the calls in flight, publishes the events that these calls committed, and closes NATS and the
 * database. Resolves with the port of the gRPC server.
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
    ...databaseServer(config),
    name: 'leads',
    poolSize: config.DATABASE_POOL_SIZE,
    lifecycle,
  })
  addPoolMetrics(metrics)
  let serving = false
  const checks: HealthCheck[] = [
    { name: 'postgres', check: () => checkDatabase(database) },
    { name: 'start', check: async () => (serving ? undefined : Promise.reject(new Error('starting'))) },
  ]
  addOutboxMetrics({ metrics, database, logger })
  const observePublished = createPublishMetrics(metrics)
  addReconciliationMetrics({ metrics, database, logger })
  await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, metrics, lifecycle, checks })
  await migrateDatabase({ config, logger, lifecycle })

  const webhookService = connectGrpc(config.WEBHOOK_SERVICE_URL, caller)
  const webhooks = webhookService.client(WebhooksServiceDefinition, { deadlineMs: 5000 })
  const loops = createLoops(logger)
  // If all services stop at once, webhook-service may be gone before this service. The calls that loops
  // make to webhook-service are therefore aborted when the loops stop.
  const webhooksOfLoops = webhookService.client(WebhooksServiceDefinition, {
    deadlineMs: 5000,
    signal: loops.signal,
  })
  // NATS may become available after the start. Until then, requests are served and events wait in the outbox.
  // The publisher is registered for `onStop` before the gRPC server. Stops run in reverse, so the publisher
  // finishes after the last call.
  let publisher: Publisher | undefined
  let nats: NatsConnection | undefined
  const connected = connectNats({ config, name: 'leads-service', logger, lifecycle })
  lifecycle.onStop('publisher', () => publisher?.finish())
  void connected.then((connection) => {
    if (lifecycle.signal.aborted) return
    nats = connection
    publisher = createPublisher(connection, {
      logger,
      observe: observePublished,
      replicas: config.NATS_REPLICAS,
    })
    const checkDeps = {
      database,
      logger,
      failures: limitRepeats(logger),
      findStoredEvents: (eventIds: string[]) => webhooksOfLoops.findStoredEvents({ eventIds }),
      hasStreamRoom: createHasStreamRoom(connection),
      publish: publisher.publish,
    }
    loops.run('outbox', CHECK_OUTBOX_EVERY_MS, () => checkOutbox(checkDeps))
  })

  const { DUPLICATE_WINDOW: duplicateWindowMs, TIME_ZONE: timeZone } = config
  const publish = (events: OutboxEvent[]) => publisher?.publishFromMemory(events)
  const search = startSearch({ database, logger, duplicateWindowMs, onCommitted: publish })
  lifecycle.onStop('search', search.stop)
  const figures = startFigures({ database, logger, timeZone })
  lifecycle.onStop('figures', figures.stop)

  const elsewhere = {
    database,
    logger,
    failures: limitRepeats(logger),
    deleteMessage: createDeleteMessage(() => nats),
    ...connectFilesService({ urls: config.FILES_SERVICE_URL, ...caller }),
    webhooks: webhooksOfLoops,
  }
  loops.run('contacts', 60_000, createNotifyContacts(elsewhere))
  loops.run('clock difference', WATCH_CLOCK_EVERY_MS, createClockWatch({ database, metrics, logger }))
  const prune = startPruning({ loops, metrics })
  prune('idempotency_keys', oldKeys(database, config.IDEMPOTENCY_RETENTION))
  prune('imports', oldImports(database))
  prune('tokens', { batch: () => deleteExpiredTokens(database) })
  const unnamedFiles = () => deleteUnnamedFiles({ ...elsewhere, signal: lifecycle.signal })
  prune('files', { batch: unnamedFiles, runsApartMs: 3_600_000 })
  const wakeErasures = loops.run('erasures', { pauseMs: 500 }, () => eraseOnce(elsewhere))
  const { ASSETS_URL: assetsUrl } = config
  const retention = { database, assetsUrl, jsonFormat: leadJsonFormat(assetsUrl) }
  loops.run('lead retention', { pauseMs: 1000 }, () => eraseOldLeads(retention))
  const recordDueEvents = createRecordDueEvents({ database, onCommitted: publish })
  loops.run('due events', RECORD_DUE_EVENTS_EVERY_MS, async () =>
    recordDueEvents(await databaseTime(database)),
  )
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
    database,
    webhooks,
    logger,
    draining: lifecycle.signal,
    wakeErasures,
    duplicateWindowMs,
    timeZone,
    assetsUrl,
    limits: { maxQuotes, maxItems, maxEventBytes },
    quotas: {
      tokens: config.TOKENS_PER_ACCOUNT,
      users: config.USERS_PER_ACCOUNT,
      images: config.IMAGES_PER_ACCOUNT,
    },
    meters: createBatcherMeters(metrics),
    sealer: createSealer(config.ENCRYPTION_KEYS),
    backupRetentionDays: config.BACKUP_RETENTION_DAYS,
    onCommitted: (events) => {
      publisher?.publishFromMemory(events)
      search.enqueue(events.filter(({ type }) => type === 'lead.created'))
      figures.enqueue(events)
    },
  })
  const grpcPort = await grpcServer.listen({ host: config.HOST, port: config.GRPC_PORT })
  serving = true
  return { grpcPort }
}
