import { setMaxListeners } from 'node:events'
import {
  AuditServiceDefinition,
  LEADS_STREAM,
  NOTIFICATION_CONSUMER,
  WEBHOOK_CONSUMER,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  auditService,
  connectNats,
  createGrpcServer,
  createMetrics,
  type ServiceContext,
  startHealthServer,
  untilMigrated,
} from '@leadwire/service-kit'
import { makeAttempt } from './attempt/make-attempt'
import type { Clock } from './clock'
import type { Config } from './config'
import { connectTables, deliverEvents } from './deliver-events'
import { createEgressGuard } from './egress/egress-guard'
import { createGuardedDispatcher } from './egress/guarded-dispatcher'
import { readLeadCreated } from './events/read-lead-created'
import { migrations } from './migrations'
import { createMailboxes } from './notifications/ensure-mailbox'
import { notifyUser } from './notifications/notify-user'
import { readNotification } from './notifications/read-notification'
import { webhooksService } from './webhooks-service'

/** Connections to the mail server, for all accounts and for one. Mail servers take few of one client. */
const MAIL = { concurrency: 8, endpointConcurrency: 2, waitingAfterMs: Number.POSITIVE_INFINITY }

/**
 * Starts everything in the order in which it is needed; the lifecycle undoes it in reverse: no more events are
 * taken, then no more attempts begun, then no more calls answered. Answers with the port of the gRPC server.
 */
export const startWebhookService = async (
  { config, logger, lifecycle }: ServiceContext<Config>,
  clock: Clock,
): Promise<{ grpcPort: number }> => {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize, WEBHOOK_TIMEOUT, SMTP_TIMEOUT } = config
  const metrics = createMetrics('webhook-service')
  // One finds and claims, two store what accounts share, three what is stored apart (`event-lanes.ts`), one is for metrics.
  const leads = connectTables({ url, schema: 'public', poolSize, queueSize: 7, lifecycle })
  const messages = connectTables({ url, schema: 'notifications', poolSize: 3, queueSize: 3, lifecycle })
  let natsCheck = (): Promise<unknown> => Promise.reject(new Error('not connected yet'))
  const checks = [
    { name: 'postgres', check: leads.database.check },
    { name: 'nats', check: () => natsCheck() },
  ]
  await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, checks, metrics, lifecycle })
  await untilMigrated(url, migrations, { signal: lifecycle.signal, logger })
  const dispatcher = createGuardedDispatcher({
    guard: createEgressGuard(config.WEBHOOK_ALLOW_HOSTS),
    connectMs: WEBHOOK_TIMEOUT,
  })
  lifecycle.onStop('http connections', () => dispatcher.destroy())
  const grpc = createGrpcServer({ logger, lifecycle, tokens: config.SERVICE_TOKEN, checks })
  const shared = { schedule: config.WEBHOOK_RETRY_SCHEDULE, clock, metrics, logger }
  const webhooks = deliverEvents({
    ...shared,
    kind: 'webhook',
    tables: leads,
    read: readLeadCreated,
    attempt: (delivery) => makeAttempt(delivery, { dispatcher, timeoutMs: WEBHOOK_TIMEOUT, clock }),
    attemptMs: WEBHOOK_TIMEOUT,
    concurrency: config.WEBHOOK_CONCURRENCY,
    endpointConcurrency: config.WEBHOOK_ENDPOINT_CONCURRENCY,
  })
  // Each attempt listens to it.
  setMaxListeners(0, lifecycle.signal)
  const mail = {
    ...{ target: config.SMTP_URL, from: config.SMTP_FROM, timeZone: config.TIME_ZONE },
    ...{ timeoutMs: SMTP_TIMEOUT, draining: lifecycle.signal, clock },
  }
  const notifications = deliverEvents({
    ...shared,
    kind: 'notification',
    tables: messages,
    read: readNotification,
    prepare: createMailboxes(messages.database),
    attempt: (delivery) => notifyUser(delivery, mail),
    attemptMs: SMTP_TIMEOUT,
    ...MAIL,
  })
  const both = [webhooks, notifications]
  const service = webhooksService({
    ...{ database: leads.database, notifications: messages.database, clock },
    endpointsPerAccount: config.WEBHOOK_ENDPOINTS_PER_ACCOUNT,
    wake: webhooks.wake,
    wakeNotifier: notifications.wake,
  })
  grpc.add(WebhooksServiceDefinition, service)
  grpc.add(AuditServiceDefinition, auditService(leads))
  const grpcPort = await grpc.listen({ host: config.HOST, port: config.GRPC_PORT })
  lifecycle.onStop('senders', () => Promise.all(both.map(({ stop }) => stop())))

  const nats = await connectNats({ url: config.NATS_URL, name: 'webhook-service', logger, lifecycle })
  natsCheck = () => nats.rtt()

  lifecycle.onStop('messages in hand', () => Promise.all(both.map(({ settled }) => settled())))
  const { leadCreated, notificationRequested } = LEADS_STREAM.subjects
  const stops = [
    webhooks.consume(nats, { subject: leadCreated, name: WEBHOOK_CONSUMER }),
    notifications.consume(nats, { subject: notificationRequested, name: NOTIFICATION_CONSUMER }),
  ]
  lifecycle.onStop('events', () => Promise.all(stops.map((stop) => stop())))
  return { grpcPort }
}
