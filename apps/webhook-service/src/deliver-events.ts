import {
  type BatcherMeters,
  connectDatabase,
  type Database,
  type Lifecycle,
  type Logger,
  type Metrics,
  type PoolMetrics,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Outcome } from './attempt/make-attempt'
import type { ClaimedDelivery } from './claim'
import type { Clock } from './clock'
import { createDeliveryMetrics } from './delivery-metrics'
import { consumeEvents } from './events/consume-events'
import { createRecordRefusal } from './events/record-refusal'
import type { StoredEvent } from './events/stored-event'
import { type Read, takeMessages } from './events/take-messages'
import { connectQueue } from './sending/connect-queue'
import { sendDeliveries } from './sending/send-deliveries'

/** How long a claim outlasts the longest attempt: its result is written in that time. */
const CLAIM_MARGIN_MS = 4000

/** For how long a delivery is claimed whose attempt takes `attemptMs` at the longest. */
export const claimMsOf = (attemptMs: number): number => attemptMs + CLAIM_MARGIN_MS

/** One records, one releases, one reads the clock, and another looks endpoints up. */
const RESULTS = 4

/** The tables of events and deliveries of one kind, over connections for three purposes. */
export interface Tables {
  /** For what is asked for. */
  database: Database
  /** For the results of attempts, and for what events need before they are stored: no list, however slow, is before these. */
  results: Database
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
  /** The pools are called by the name of the tables. */
  name: string
  observe: PoolMetrics
}): Tables => {
  const { url, poolSize, queueSize, lifecycle, name, observe } = options
  const settings = { search_path: options.schema }
  return {
    database: connectDatabase({ url, poolSize, lifecycle, settings, observe: observe(name) }),
    results: connectDatabase({
      ...{ url, poolSize: RESULTS, lifecycle, settings },
      observe: observe(`${name}_results`),
    }),
    queue: connectQueue({ url, poolSize: queueSize, lifecycle, settings, observe: observe(`${name}_queue`) }),
  }
}

/**
 * Takes events of webhooks, or of notifications, from JetStream, stores them with their deliveries, and attempts these on schedule. Kinds share
 * the process and the database, and nothing else: neither slots nor tables nor consumers.
 */
export const deliverEvents = (options: {
  kind: 'webhook' | 'notification'
  tables: Tables
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
  meters: BatcherMeters
  /** How many NATS servers keep the stream. */
  replicas: number | undefined
  logger: Logger
}) => {
  const { replicas, kind, tables, prepare, attemptMs, clock, logger } = options
  const metrics = createDeliveryMetrics({
    kind,
    metrics: options.metrics,
    queue: tables.queue,
    clock,
    logger,
  })
  const sender = sendDeliveries({
    ...options,
    ...{ database: tables.results, queue: tables.queue },
    metrics,
    meters: (name) => options.meters(`${kind}_${name}`),
    claimMs: claimMsOf(attemptMs),
  })
  const store = async (event: StoredEvent) => {
    await prepare?.(event)
    return sender.take(event)
  }
  const recordRefusal = createRecordRefusal(tables.database)
  const { take, settled } = takeMessages({ store, recordRefusal, metrics, logger })
  return {
    wake: sender.wake,
    /** Claims nothing more, and lets what is under way end. */
    stop: sender.stop,
    /** Resolves when all messages in hand are answered. */
    settled,
    /** Takes what comes to a durable consumer. Answers with what stops it. */
    consume: (nats: NatsConnection, { read, ...from }: { subject: string; name: string; read: Read }) =>
      consumeEvents({ nats, ...from, replicas, take: (message) => take(message, read), logger }),
  }
}
