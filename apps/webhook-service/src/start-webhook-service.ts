import { WebhooksServiceDefinition } from '@leadwire/contracts'
import {
  connectDatabase,
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
import { createEgressGuard } from './egress/egress-guard'
import { createGuardedDispatcher } from './egress/guarded-dispatcher'
import { consumeLeads } from './events/consume-leads'
import { takeLeadMessages } from './events/take-lead-messages'
import { migrations } from './migrations'
import { connectQueue } from './sending/connect-queue'
import { sendDeliveries } from './sending/send-deliveries'
import { createWebhookMetrics } from './webhook-metrics'
import { webhooksService } from './webhooks-service'

/** How long a claim outlasts the longest attempt: its result is written in that time. */
const CLAIM_MARGIN_MS = 4000

/**
 * Starts everything in the order in which it is needed; the lifecycle undoes it in reverse: no more events are
 * taken, then no more attempts begun, then no more calls answered. Answers with the port of the gRPC server.
 */
export const startWebhookService = async (
  { config, logger, lifecycle }: ServiceContext<Config>,
  clock: Clock,
): Promise<{ grpcPort: number }> => {
  const metrics = createMetrics('webhook-service')
  const database = connectDatabase({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    lifecycle,
  })
  const queue = connectQueue({ url: config.DATABASE_URL, lifecycle })
  let natsCheck = (): Promise<unknown> => Promise.reject(new Error('not connected yet'))
  const checks = [
    { name: 'postgres', check: database.check },
    { name: 'nats', check: () => natsCheck() },
  ]
  await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, checks, metrics, lifecycle })
  await untilMigrated(config.DATABASE_URL, migrations, { signal: lifecycle.signal, logger })
  const webhookMetrics = createWebhookMetrics({ metrics, queue, clock, logger })
  const dispatcher = createGuardedDispatcher({
    guard: createEgressGuard(config.WEBHOOK_ALLOW_HOSTS),
    connectMs: config.WEBHOOK_TIMEOUT,
  })
  lifecycle.onStop('http connections', () => dispatcher.destroy())
  const grpc = createGrpcServer({ logger, lifecycle, tokens: config.SERVICE_TOKEN, checks })
  const sender = sendDeliveries({
    database,
    queue,
    claimMs: config.WEBHOOK_TIMEOUT + CLAIM_MARGIN_MS,
    attempt: (delivery) => makeAttempt(delivery, { dispatcher, timeoutMs: config.WEBHOOK_TIMEOUT, clock }),
    schedule: config.WEBHOOK_RETRY_SCHEDULE,
    concurrency: config.WEBHOOK_CONCURRENCY,
    endpointConcurrency: config.WEBHOOK_ENDPOINT_CONCURRENCY,
    clock,
    metrics: webhookMetrics,
    logger,
  })
  const service = webhooksService({
    ...{ database, clock },
    endpointsPerAccount: config.WEBHOOK_ENDPOINTS_PER_ACCOUNT,
    wake: (ids) => sender.wake(ids),
  })
  grpc.add(WebhooksServiceDefinition, service)
  const grpcPort = await grpc.listen({ host: config.HOST, port: config.GRPC_PORT })
  lifecycle.onStop('sender', () => sender.stop())

  const nats = await connectNats({ url: config.NATS_URL, name: 'webhook-service', logger, lifecycle })
  natsCheck = () => nats.rtt()

  const { take, settled } = takeLeadMessages({ store: sender.take, metrics: webhookMetrics, logger })
  lifecycle.onStop('messages in hand', () => settled())
  lifecycle.onStop('lead events', consumeLeads({ nats, take, logger }))
  return { grpcPort }
}
