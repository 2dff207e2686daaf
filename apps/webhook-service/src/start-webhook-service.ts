import { setMaxListeners } from 'node:events'
import { AuditServiceDefinition, LOGGED_SUBJECT, WebhooksServiceDefinition } from '@leadwire/contracts'
import {
  addPoolMetrics,
  auditService,
  checkDatabase,
  connectNats,
  createBatcherMeters,
  createClockWatch,
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
  WATCH_CLOCK_EVERY_MS,
  watchAuthorities,
  watchTls,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import { type Clock, createDatabaseClock, READ_CLOCK_EVERY_MS } from './clock'
import type { Config } from './config'
import type { consumeEvents } from './delivery/append/consume-events'
import { addStreamMetrics } from './delivery/append/stream-metrics'
import { makeAttempt } from './delivery/attempt/make-attempt'
import { resetFutureAttempts } from './delivery/claim/reset-future-attempts'
import { computeClaimMs, connectTables, deliverEvents } from './delivery/deliver-events'
import { sendEndpointReport } from './delivery/report/send-endpoint-report'
import { createUrlCheck } from './egress/create-url-check'
import { dialThroughProxy } from './egress/dial-through-proxy'
import { createEgressGuard } from './egress/egress-guard'
import { createGuardedDispatcher } from './egress/guarded-dispatcher'
import { createResolver, limitResolution } from './egress/resolve-host'
import { createPruneReplays } from './endpoints/replay/replays'
import { runReplay } from './endpoints/replay/run-replay'
import { reencryptSecrets, removeEndedSecrets } from './endpoints/secrets/store-secrets'
import { disableFailingEndpoint } from './endpoints/state/disable-failing-endpoint'
import { createSyncDeliveries } from './endpoints/state/sync-deliveries'
import { createLogWatch } from './event-log/watch-logs'
import { migrateDatabase } from './migrations'
import { createMailHold, LONGEST_WAIT_MS } from './notifications/hold-mail'
import { limitMessages, listDigestEntries } from './notifications/limit-messages'
import { createMailboxes } from './notifications/notify-contact'
import { deleteMessagesFrom, notifyUser } from './notifications/notify-user'
import { orderInvitations } from './notifications/order-invitations'
import {
  DELETE_LINKS_EVERY_MS,
  deleteEndedLinks,
  readSignInLink,
  storeSignInLink,
} from './notifications/sign-in-links'
import type { Dependencies, Loop } from './operation'
import { createPruneEventMessages } from './removal/prune-event-messages'
import { createPruneEvents } from './removal/prune-events'
import { webhooksService } from './webhooks-service'

/**
 * `resetFutureAttempts` never changes attempts that are due within this time, because an earlier
 * `WEBHOOK_RETRY_SCHEDULE` with longer pauses may have scheduled them.
 */
const SHORTEST_RESET_MS = 3_600_000

/**
 * The maximum number of connections to the mail server, in total and for one account. Mail servers accept
 * only a few connections from one client. An e-mail keeps its slot while it waits for the server, so the
 * number of slots limits the connections.
 */
const MAIL = { concurrency: 8, endpointConcurrency: 2, waitingAfterMs: Number.POSITIVE_INFINITY }

/**
 * Starts the service. The lifecycle stops the parts of the service in reverse order: first the service takes
 * no more events, then it starts no more attempts, and then it accepts no more calls.
 *
 * Specs may replace `clock` (the clock of the database), `sync` (a round of the loop that updates the
 * deliveries of changed endpoints) and `idlePollMs` (the longest pause between two polls, and the pause
 * between two deletions of sign-in links).
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
  let consumers: ReturnType<typeof consumeEvents>[] = []
  const checkNats = async () => {
    if (!nats) throw new Error('not connected yet')
    return nats.rtt()
  }
  /**
   * Checks the stream only while NATS responds. While NATS is unavailable this check passes, because the
   * check `nats` already reports that.
   */
  const checkStream = async () => {
    const isConnected = await checkNats().then(
      () => true,
      () => false,
    )
    if (isConnected) await Promise.all(consumers.map(({ check }) => check()))
  }
  const checks = [
    { name: 'postgres', check: () => checkDatabase(leads.database) },
    { name: 'nats', check: checkNats },
    { name: 'stream', check: checkStream },
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
  const resolve = createResolver({ limitMs: limitResolution(WEBHOOK_TIMEOUT) })
  const dispatcher = createGuardedDispatcher({ guard, resolve, connectMs: WEBHOOK_TIMEOUT, dial })
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
  const loops = createLoops(logger)
  const shared = {
    schedule: config.WEBHOOK_RETRY_SCHEDULE,
    replicas: config.NATS_REPLICAS,
    clock,
    idlePollMs,
    loops,
    metrics,
    meters: createBatcherMeters(metrics),
    logger,
    onReports: () => dependencies.wake('reports'),
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
    from: config.SMTP_FROM,
    timeZone: config.TIME_ZONE,
    timeoutMs: SMTP_TIMEOUT,
    draining: lifecycle.signal,
    clock,
    authorities: watchAuthorities(config.SMTP_CA_FILE, { lifecycle, logger }),
    listDigestEntries: (digestId: string) => listDigestEntries(messages.results, digestId),
    readSignInLink: (eventId: string) => readSignInLink({ database: messages.results, sealer }, eventId),
  }
  const claimMs = { webhooks: computeClaimMs(WEBHOOK_TIMEOUT), notifications: computeClaimMs(SMTP_TIMEOUT) }
  const keepOrder = orderInvitations({ database: messages.results, clock, claimMs: claimMs.notifications })
  const limit = limitMessages({
    database: messages.results,
    clock,
    mostPerHour: config.NOTIFICATIONS_PER_HOUR,
  })
  const hold = createMailHold({ database: messages.results, clock, logger, metrics })
  const createMailbox = createMailboxes(messages.results)
  const notifications = deliverEvents({
    ...shared,
    kind: 'notification',
    tables: messages,
    prepare: async (event) => {
      await createMailbox(event)
      await storeSignInLink(messages.results, event)
    },
    attempt: async (delivery) => {
      const unmade = (await keepOrder(delivery)) ?? (await limit(delivery))
      return unmade ?? hold(delivery, () => notifyUser(delivery, mail))
    },
    attemptMs: SMTP_TIMEOUT,
    ...MAIL,
  })
  loops.run('clock', READ_CLOCK_EVERY_MS, () => databaseClock.read().then(() => false))
  const watchClock = createClockWatch({ database: leads.results, metrics, logger })
  loops.run('clock difference', WATCH_CLOCK_EVERY_MS, watchClock)
  loops.run('ended secrets', 60_000, () => removeEndedSecrets(leads.database, { sealer, clock }))
  loops.run('sign-in links', idlePollMs ?? DELETE_LINKS_EVERY_MS, () => deleteEndedLinks(messages.database))
  const prune = startPruning({ loops, metrics })
  prune('idempotency_keys', oldKeys(leads.database, config.IDEMPOTENCY_RETENTION))
  // Keeps a replay at least as long as an idempotency key, because a saved response may contain the id of the
  // replay.
  const replaysMs = Math.max(config.DELIVERY_RETENTION, config.IDEMPOTENCY_RETENTION)
  prune('replays', createPruneReplays(leads.database, replaysMs))
  const deleteMessages = deleteMessagesFrom(config.SMTP_URL)
  const kept = { doneMs: config.DELIVERY_RETENTION, exhaustedMs: config.EXHAUSTED_RETENTION }
  for (const [rows, { database }] of Object.entries({ webhooks: leads, notifications: messages }))
    prune(rows, createPruneEvents(database, kept, deleteMessages))
  prune('event_messages', createPruneEventMessages(leads.database))
  const syncs = Object.entries({ 'endpoint syncs': leads, 'mailbox syncs': messages }).map(
    ([name, { database }]) => loops.run(name, { pauseMs: 250 }, sync ?? createSyncDeliveries(database)),
  )
  const dependencies: Dependencies = {
    database: leads.database,
    notifications: messages.database,
    clock,
    sealer,
    deleteMessages,
    endpointsPerAccount: config.WEBHOOK_ENDPOINTS_PER_ACCOUNT,
    disableAfterMs: config.WEBHOOK_DISABLE_AFTER,
    keptMs: Math.min(config.DELIVERY_RETENTION, config.EXHAUSTED_RETENTION),
    longestPauseMs: Math.max(SHORTEST_RESET_MS, LONGEST_WAIT_MS, ...config.WEBHOOK_RETRY_SCHEDULE),
    claimMs,
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
  loops.run('future attempts', 10_000, () => resetFutureAttempts(dependencies))
  if (Number.isFinite(config.WEBHOOK_DISABLE_AFTER))
    loops.run('failing endpoints', 60_000, () => disableFailingEndpoint(dependencies))
  lifecycle.onStop('loops', loops.stop)
  const both = [webhooks, notifications]
  const served = { checkUrl: createUrlCheck({ guard, resolve }), logs, draining: lifecycle.signal }
  grpc.add(WebhooksServiceDefinition, webhooksService(dependencies, served))
  grpc.add(AuditServiceDefinition, auditService(leads))
  const grpcPort = await grpc.listen({ host: config.HOST, port: config.GRPC_PORT })
  lifecycle.onStop('senders', () => Promise.all(both.map(({ stop }) => stop())))

  const connection = await connectNats({ config, name: 'webhook-service', logger, lifecycle })
  nats = connection
  logs.connect(connection)
  addStreamMetrics({ metrics, nats: connection, logger })

  lifecycle.onStop('messages in flight', () => Promise.all(both.map(({ done }) => done())))
  consumers = both.map(({ consume }) => consume(connection))
  lifecycle.onStop('events', () => Promise.all(consumers.map(({ stop }) => stop())))
  return { grpcPort }
}
