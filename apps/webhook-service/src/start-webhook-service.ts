import { setMaxListeners } from 'node:events'
import { AuditServiceDefinition, LOGGED_SUBJECT, WebhooksServiceDefinition } from '@leadwire/contracts'
import {
  addPoolMetrics,
  auditService,
  connectNats,
  createBatcherMeters,
  createGrpcServer,
  createLoops,
  createMetrics,
  createSealer,
  databaseServer,
  oldKeys,
  type Round,
  type ServiceContext,
  startHealthServer,
  startPruning,
  watchAuthorities,
  watchTls,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import { makeAttempt } from './attempt/make-attempt'
import { type Clock, createDatabaseClock, READ_CLOCK_EVERY_MS } from './clock'
import type { Config } from './config'
import { claimMsOf, connectTables, deliverEvents } from './deliver-events'
import { createUrlCheck } from './egress/create-url-check'
import { dialThroughProxy } from './egress/dial-through-proxy'
import { createEgressGuard } from './egress/egress-guard'
import { createGuardedDispatcher } from './egress/guarded-dispatcher'
import { oldReplays } from './endpoints/replay/replays'
import { runReplay } from './endpoints/replay/run-replay'
import { reencryptSecrets, removeEndedSecrets } from './endpoints/secrets/store-secrets'
import { disableFailingEndpoint } from './endpoints/state/disable-failing-endpoint'
import { createSyncDeliveries } from './endpoints/state/sync-deliveries'
import { createLogWatch } from './event-log/watch-logs'
import { addStreamMetrics } from './ingest/stream-metrics'
import { migrateDatabase } from './migrations'
import { createMailboxes } from './notifications/notify-contact'
import { deleteMessagesFrom, notifyUser } from './notifications/notify-user'
import { orderInvitations } from './notifications/order-invitations'
import type { Dependencies, Loop } from './operation'
import { createPruneEvents } from './removal/prune-events'
import { sendEndpointReport } from './reports/send-endpoint-report'
import { webhooksService } from './webhooks-service'

/** Connections to the mail server, for all accounts and for one. Mail servers accept few from one client. */
const MAIL = { concurrency: 8, endpointConcurrency: 2, waitingAfterMs: Number.POSITIVE_INFINITY }

/**
 * Starts everything; the lifecycle stops it in reverse: first no more events are taken, then no more attempts start, then no more calls
 * are answered. `clock` replaces the database's clock, `sync` the loop that moves the deliveries of changed endpoints, and
 * `idlePollMs` the longest time between two polls for deliveries.
 */
export const startWebhookService = async (
  { config, logger, lifecycle }: ServiceContext<Config>,
  given: { clock?: Clock; sync?: () => Promise<Round>; idlePollMs?: number } = {},
): Promise<{ grpcPort: number }> => {
  const { DATABASE_POOL_SIZE: poolSize, WEBHOOK_TIMEOUT, SMTP_TIMEOUT } = config
  const metrics = createMetrics('webhook-service')
  addPoolMetrics(metrics)
  const { leads, messages } = connectTables({ ...databaseServer(config), poolSize, lifecycle })
  let nats: NatsConnection | undefined
  const checks = [
    { name: 'postgres', check: () => leads.database.query({ text: 'SELECT 1' }) },
    { name: 'nats', check: async () => nats?.rtt() ?? Promise.reject(new Error('not connected yet')) },
  ]
  await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, checks, metrics, lifecycle })
  await migrateDatabase({ config, logger, lifecycle })
  const databaseClock = await createDatabaseClock(leads.results)
  const { clock = databaseClock, sync, idlePollMs } = given
  const sealer = createSealer(config.ENCRYPTION_KEYS)
  await reencryptSecrets(leads.database, { sealer, clock })
  const guard = createEgressGuard(config.WEBHOOK_ALLOW_HOSTS)
  const isProxied = config.WEBHOOK_PROXY !== undefined
  const dial = isProxied ? dialThroughProxy(() => config.WEBHOOK_PROXY!) : undefined
  const dispatcher = createGuardedDispatcher({ guard, connectMs: WEBHOOK_TIMEOUT, dial })
  const sending = { dispatcher, sealer, timeoutMs: WEBHOOK_TIMEOUT, clock, isProxied }
  lifecycle.onStop('http connections', () => dispatcher.destroy())
  const grpc = createGrpcServer({
    logger,
    lifecycle,
    tokens: () => config.SERVICE_TOKEN,
    tls: watchTls(config, { lifecycle, logger }),
    checks,
    metrics,
  })
  const shared = {
    ...{ schedule: config.WEBHOOK_RETRY_SCHEDULE, replicas: config.NATS_REPLICAS },
    ...{ clock, idlePollMs, metrics, meters: createBatcherMeters(metrics), logger },
  }
  const logs = createLogWatch(lifecycle.signal)
  const webhooks = deliverEvents({
    ...shared,
    kind: 'webhook',
    tables: leads,
    onLogged: (accountIds) => nats?.publish(LOGGED_SUBJECT, JSON.stringify(accountIds)),
    attempt: (delivery) => makeAttempt(delivery, sending),
    attemptMs: WEBHOOK_TIMEOUT,
    concurrency: config.WEBHOOK_CONCURRENCY,
    endpointConcurrency: config.WEBHOOK_ENDPOINT_CONCURRENCY,
  })
  setMaxListeners(0, lifecycle.signal)
  const mail = {
    get target() {
      return config.SMTP_URL
    },
    ...{ from: config.SMTP_FROM, timeZone: config.TIME_ZONE },
    ...{ timeoutMs: SMTP_TIMEOUT, draining: lifecycle.signal, clock },
    authorities: watchAuthorities(config.SMTP_CA_FILE, { lifecycle, logger }),
  }
  const unmade = orderInvitations(messages.results, clock)
  const notifications = deliverEvents({
    ...shared,
    kind: 'notification',
    tables: messages,
    prepare: createMailboxes(messages.results),
    attempt: async (delivery) => (await unmade(delivery)) ?? notifyUser(delivery, mail),
    attemptMs: SMTP_TIMEOUT,
    ...MAIL,
  })
  const loops = createLoops(logger)
  loops.run('clock', READ_CLOCK_EVERY_MS, () => databaseClock.read().then(() => false))
  loops.run('ended secrets', 60_000, () => removeEndedSecrets(leads.database, { sealer, clock }))
  const prune = startPruning({ loops, metrics })
  prune('idempotency_keys', oldKeys(leads.database, config.IDEMPOTENCY_RETENTION))
  // A response that is saved under a key names its replay.
  const replaysMs = Math.max(config.DELIVERY_RETENTION, config.IDEMPOTENCY_RETENTION)
  prune('replays', oldReplays(leads.database, replaysMs))
  const deleteMessages = deleteMessagesFrom(config.SMTP_URL)
  const kept = { doneMs: config.DELIVERY_RETENTION, exhaustedMs: config.EXHAUSTED_RETENTION }
  for (const [rows, { database }] of Object.entries({ webhooks: leads, notifications: messages }))
    prune(rows, createPruneEvents(database, kept, deleteMessages))
  const syncs = Object.entries({ 'endpoint syncs': leads, 'mailbox syncs': messages }).map(
    ([name, { database }]) => loops.run(name, { pauseMs: 250 }, sync ?? createSyncDeliveries(database)),
  )
  const dependencies: Dependencies = {
    ...{ database: leads.database, notifications: messages.database, clock, sealer, deleteMessages },
    endpointsPerAccount: config.WEBHOOK_ENDPOINTS_PER_ACCOUNT,
    disableAfterMs: config.WEBHOOK_DISABLE_AFTER,
    keptMs: Math.min(config.DELIVERY_RETENTION, config.EXHAUSTED_RETENTION),
    longestPauseMs: Math.max(...config.WEBHOOK_RETRY_SCHEDULE),
    claimMs: { webhooks: claimMsOf(WEBHOOK_TIMEOUT), notifications: claimMsOf(SMTP_TIMEOUT) },
    wake: (loop) => {
      for (const each of wakes[loop]) each()
    },
  }
  const wakes: Record<Loop, (() => void)[]> = {
    webhooks: [webhooks.wake],
    notifications: [notifications.wake],
    syncs,
    reports: [loops.run('endpoint reports', { pauseMs: 500 }, () => sendEndpointReport(dependencies))],
    replays: [loops.run('replays', { pauseMs: 500 }, () => runReplay(dependencies))],
  }
  if (Number.isFinite(config.WEBHOOK_DISABLE_AFTER))
    loops.run('failing endpoints', 60_000, () => disableFailingEndpoint(dependencies))
  lifecycle.onStop('loops', loops.stop)
  const both = [webhooks, notifications]
  grpc.add(WebhooksServiceDefinition, webhooksService(dependencies, createUrlCheck({ guard }), logs))
  grpc.add(AuditServiceDefinition, auditService(leads))
  const grpcPort = await grpc.listen({ host: config.HOST, port: config.GRPC_PORT })
  lifecycle.onStop('senders', () => Promise.all(both.map(({ stop }) => stop())))

  const connection = await connectNats({ config, name: 'webhook-service', logger, lifecycle })
  nats = connection
  logs.connect(connection)
  addStreamMetrics({ metrics, nats: connection, logger })

  lifecycle.onStop('messages in flight', () => Promise.all(both.map(({ done }) => done())))
  const stops = both.map(({ consume }) => consume(connection))
  lifecycle.onStop('events', () => Promise.all(stops.map((stop) => stop())))
  return { grpcPort }
}
