import {
  type BatcherMeters,
  connectDatabase,
  type Database,
  type Lifecycle,
  type Logger,
  type Metrics,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Outcome } from './attempt/make-attempt'
import type { Clock } from './clock'
import { consumeEvents } from './ingest/consume-events'
import { recordDeadLetter } from './ingest/record-dead-letter'
import { createStore } from './ingest/store-in-batches'
import type { StoredEvent } from './ingest/stored-event'
import { type Read, takeMessages } from './ingest/take-messages'
import type { ClaimedDelivery } from './queue/claim'
import { createDeliveryMetrics } from './queue/delivery-metrics'
import { sendDeliveries } from './queue/send-deliveries'

/** How long a claim outlasts the longest attempt: the attempt is recorded in that time. */
const CLAIM_MARGIN_MS = 4000

/** For how long a delivery is claimed whose attempt takes at most `attemptMs`. */
export const claimMsOf = (attemptMs: number): number => attemptMs + CLAIM_MARGIN_MS

/** One records, one releases, one reads the clock, one finds mailboxes. */
const RESULTS = 4

/**
 * The settings of the connections that store, find and claim. A claim that a crash of the database loses costs a repeated attempt:
 * it does not wait for the disk, and the statement that stores events asks to wait. Each statement has an index that gives its
 * order too, so a planner without statistics must neither scan nor sort (measured with 900 waiting endpoints: 300 ms for a poll
 * that sorts, else 4). A batch of many accounts waits for no lock of a changed endpoint: it times out, and is stored separately.
 */
export const QUEUE_SETTINGS = {
  synchronous_commit: 'off',
  enable_sort: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
  lock_timeout: '100ms',
}

/** The tables of one kind of events, over connections for three purposes. */
export interface Tables {
  /** For operations. */
  database: Database
  /** For the results of attempts, and what events need before they are stored: never behind a slow list. */
  results: Database
  /** For the statements that store, find and claim. */
  queue: Database
}

/** Connects to the tables in `schema`. `name` is that of the pools in metrics. */
export const connectTables = (options: {
  url: string
  schema: string
  poolSize: number
  queueSize: number
  lifecycle: Lifecycle
  name: string
}): Tables => {
  const { url, poolSize, queueSize, lifecycle, name } = options
  const connect = (suffix: string, size: number, settings = {}) =>
    connectDatabase({
      ...{ url, name: name + suffix, poolSize: size, lifecycle },
      settings: { search_path: options.schema, ...settings },
    })
  return {
    database: connect('', poolSize),
    results: connect('_results', RESULTS),
    queue: connect('_queue', queueSize, QUEUE_SETTINGS),
  }
}

/**
 * Takes the events of webhooks, or of notifications, from JetStream, stores them with their deliveries, and attempts these on
 * schedule. The two kinds share the process and the database, but no slots, tables or consumers.
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
  const { replicas, kind, tables, prepare, clock, logger } = options
  const { database, queue } = tables
  const metrics = createDeliveryMetrics({ kind, metrics: options.metrics, queue, clock, logger })
  const meters = (name: string) => options.meters(`${kind}_${name}`)
  const claimMs = claimMsOf(options.attemptMs)
  const sender = sendDeliveries({ ...options, database: tables.results, queue, metrics, meters, claimMs })
  const store = createStore({ queue, clock, sender, meters })
  const { take, done } = takeMessages({
    store: async (event) => {
      await prepare?.(event)
      return store(event)
    },
    recordDeadLetter: (deadLetter) => recordDeadLetter(database, deadLetter),
    metrics,
    logger,
  })
  return {
    wake: sender.wake,
    /** Claims nothing more, and lets attempts in flight end. */
    stop: sender.stop,
    /** Resolves when all messages in flight are answered. */
    done,
    /** Takes the messages of a durable consumer. Returns the function that stops it. */
    consume: (nats: NatsConnection, { read, ...from }: { subject: string; name: string; read: Read }) =>
      consumeEvents({ nats, ...from, replicas, take: (message) => take(message, read), logger }),
  }
}
