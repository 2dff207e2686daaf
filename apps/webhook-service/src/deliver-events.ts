import {
  connectDatabase,
  type Database,
  type Lifecycle,
  type Logger,
  type Metrics,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Outcome } from './attempt/make-attempt'
import type { Clock } from './clock'
import { createDeliveryMetrics } from './delivery-metrics'
import { consumeEvents } from './events/consume-events'
import type { StoredEvent } from './events/stored-event'
import { takeMessages } from './events/take-messages'
import type { ClaimedDelivery } from './sending/claim-deliveries'
import { connectQueue } from './sending/connect-queue'
import { sendDeliveries } from './sending/send-deliveries'

/** How long a claim outlasts the longest attempt: its result is written in that time. */
const CLAIM_MARGIN_MS = 4000

/** The tables of events and deliveries of one kind, over connections for two purposes. */
export interface Tables {
  database: Database
  /** For the statements that store, find and claim. */
  queue: Database
}

/** Connects to the tables in `schema`. */
export const connectTables = (options: {
  url: string
  schema: string
  poolSize: number
  queueSize: number
  lifecycle: Lifecycle
}): Tables => {
  const { url, poolSize, queueSize, lifecycle } = options
  const settings = { search_path: options.schema }
  return {
    database: connectDatabase({ url, poolSize, lifecycle, settings }),
    queue: connectQueue({ url, poolSize: queueSize, lifecycle, settings }),
  }
}

/**
 * Takes the events of one kind from JetStream, stores them with their deliveries, and attempts these on schedule. Kinds share
 * the process and the database, and nothing else: neither slots nor tables nor consumers.
 */
export const deliverEvents = (options: {
  kind: 'webhook' | 'notification'
  tables: Tables
  read: (message: Uint8Array) => StoredEvent
  /** Called before an event is stored. */
  prepare?: (event: StoredEvent) => Promise<void>
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  /** The longest that an attempt takes. */
  attemptMs: number
  schedule: number[]
  concurrency: number
  endpointConcurrency: number
  waitingAfterMs?: number
  clock: Clock
  metrics: Metrics
  logger: Logger
}) => {
  const { kind, tables, read, prepare, attemptMs, clock, logger } = options
  const metrics = createDeliveryMetrics({
    kind,
    metrics: options.metrics,
    queue: tables.queue,
    clock,
    logger,
  })
  const sender = sendDeliveries({ ...options, ...tables, metrics, claimMs: attemptMs + CLAIM_MARGIN_MS })
  const store = async (event: StoredEvent) => {
    await prepare?.(event)
    return sender.take(event)
  }
  const { take, settled } = takeMessages({ read, store, metrics, logger })
  return {
    wake: sender.wake,
    /** Claims nothing more, and lets what is under way end. */
    stop: sender.stop,
    /** Resolves when all messages in hand are answered. */
    settled,
    /** Takes what comes to a durable consumer. Answers with what stops it. */
    consume: (nats: NatsConnection, from: { subject: string; name: string }) =>
      consumeEvents({ nats, ...from, take, logger }),
  }
}
