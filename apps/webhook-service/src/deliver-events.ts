import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import {
  type BatcherMeters,
  connectDatabase,
  type Database,
  type DatabaseServer,
  type Lifecycle,
  type Metrics,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import { consumeEvents } from './ingest/consume-events'
import { readEvent, readNotification, type StoredEvent } from './ingest/read-event'
import { createStore } from './ingest/store-in-batches'
import { takeMessages } from './ingest/take-messages'
import { createDeliveryMetrics } from './queue/delivery-metrics'
import { type SendOptions, sendDeliveries } from './queue/send-deliveries'

/** How long a claim outlasts the longest attempt: the attempt is recorded in that time. */
const CLAIM_MARGIN_MS = 4000

export const claimMsOf = (attemptMs: number): number => attemptMs + CLAIM_MARGIN_MS

/** For both kinds: one polls, one claims, two store, one records. What else there is takes milliseconds, and waits for one of them. */
const QUEUE_CONNECTIONS = 5

/**
 * A claim that a crash of the database loses costs a repeated attempt: it does not wait for the disk. The statement that stores events
 * asks to wait. Each statement has an index in its order: without sorting, a poll with 900 waiting endpoints takes 4 ms instead of 300.
 * A batch of many accounts waits for no lock of a changed endpoint: it times out, and is stored separately.
 */
export const QUEUE_SETTINGS = [
  ...['synchronous_commit = off', "lock_timeout = '100ms'"],
  ...['enable_sort = off', 'enable_bitmapscan = off', 'jit = off'],
]

interface Tables {
  database: Database
  /** For the results of attempts, and what events need before they are stored: never behind a slow list. */
  results: Database
  /** For the statements that store, find and claim. */
  queue: Database
}

/** The tables of webhooks and those of notifications, which share connections. */
export const connectTables = (options: DatabaseServer & { poolSize: number; lifecycle: Lifecycle }) => {
  const database = connectDatabase({ ...options, name: 'webhooks' })
  const results = connectDatabase({ ...options, name: 'webhooks_queue', poolSize: QUEUE_CONNECTIONS })
  const path = ['search_path = notifications']
  const leads: Tables = { database, results, queue: results.with('queue', QUEUE_SETTINGS) }
  const messages: Tables = {
    database: database.with('notifications', path),
    results: results.with('notifications', path),
    queue: results.with('notifications-queue', [...path, ...QUEUE_SETTINGS]),
  }
  return { leads, messages }
}

const SOURCES = {
  webhook: { subject: LEADS_STREAM.subjects.events, name: WEBHOOK_CONSUMER, read: readEvent },
  notification: {
    subject: LEADS_STREAM.subjects.notifications,
    name: NOTIFICATION_CONSUMER,
    read: readNotification,
  },
}

/** Stores the events of webhooks, or of notifications, and attempts their deliveries. The kinds share no slots, tables or consumers. */
export const deliverEvents = (
  options: Omit<SendOptions, 'database' | 'queue' | 'claimMs' | 'metrics' | 'meters'> & {
    kind: 'webhook' | 'notification'
    tables: Tables
    prepare?: (event: StoredEvent) => Promise<unknown>
    onLogged?: (accountIds: number[]) => void
    attemptMs: number
    metrics: Metrics
    meters: BatcherMeters
    replicas: number | undefined
  },
) => {
  const { replicas, kind, tables, prepare, onLogged, clock, logger } = options
  const { database, results, queue } = tables
  const { read, ...source } = SOURCES[kind]
  const metrics = createDeliveryMetrics({ kind, metrics: options.metrics, queue, clock, logger })
  const meters = (name: string) => options.meters(`${kind}_${name}`)
  const claimMs = claimMsOf(options.attemptMs)
  const sender = sendDeliveries({ ...options, database: results, queue, metrics, meters, claimMs })
  const storeEvent = createStore({ queue, clock, sender, onLogged, meters })
  const store = async (event: StoredEvent) => {
    await prepare?.(event)
    return storeEvent(event)
  }
  const { take, done } = takeMessages({ read, store, database, metrics, logger })
  return {
    wake: sender.wake,
    stop: sender.stop,
    done,
    consume: (nats: NatsConnection) => consumeEvents({ nats, ...source, replicas, take, logger }),
  }
}
