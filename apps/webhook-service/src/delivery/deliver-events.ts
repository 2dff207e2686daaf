/*
 * Delivery turns an event in JetStream into deliveries and recorded attempts, in six steps. Each step can be
 * repeated from the rows in the database, so any process may be killed at any moment.
 *
 *   JetStream ─> append ─┬────────────────> deliveries <── replay, manual retry, test send
 *                        └─> fan_out_queue ─> fan out ─┘        │
 *                                                           claim │ <── poll
 *                                                               v
 *      reports to other endpoints <── review <── record <── attempt ──> receiver
 *
 * | Step    | Folder     | Does                                              | Limited by                 |
 * | append  | `append/`  | numbers and stores events, acknowledges messages  | 100 events, 4 MiB          |
 * | fan out | `fan-out/` | creates the deliveries of stored events           | 1,000 rows                 |
 * | claim   | `claim/`   | leases due deliveries                             | slots: total, per endpoint |
 * | attempt | `attempt/` | sends one signed POST, or one e-mail              | time, sockets              |
 * | record  | `record/`  | stores the outcome and updates the delivery       | 100 attempts, 50 ms        |
 * | review  | `report/`  | decides which endpoints fail or have recovered    | 1,000 attempts             |
 *
 * The append step also fans out an event if its account has at most 10 endpoints and no event in
 * `fan_out_queue`. All other events enter this queue. E-mails take the same steps in the schema
 * `notifications`. Only the attempt differs. The link with which a user signs in is stored separately, before
 * the append of its e-mail (`notifications/sign-in-links.ts`).
 *
 * The status of a delivery (`deliveries.status`):
 *
 * - pending: the next attempt is due at `next_attempt_at`.
 * - held: the endpoint is disabled. `next_attempt_at` keeps its value.
 * - delivered, exhausted or cancelled: no scheduled attempt follows.
 *
 * Transitions:
 *
 * - The fan-out creates a delivery as pending, or as held if the endpoint is disabled.
 * - The record step makes a delivery delivered after a 2xx response, whatever its status was. If the last
 *   scheduled attempt fails, the record step makes a pending or held delivery exhausted, or cancelled if its
 *   endpoint was deleted. Any other failure changes no status.
 * - `endpoints/state/sync-deliveries.ts` updates rows after an endpoint was disabled (pending to held),
 *   enabled (held to pending) or deleted (both to cancelled). The change of the endpoint takes effect at
 *   once, because all statements that claim or show a delivery also read its endpoint.
 * - An erasure changes every status except delivered to cancelled.
 * - The attempt step cancels an e-mail that a later e-mail about the same appointment or callback replaces
 *   (`notifications/order-invitations.ts`), and an e-mail that a digest lists instead
 *   (`notifications/limit-messages.ts`).
 * - A manual attempt is requested with `manual_at`. It does not change the schedule. A success makes the
 *   delivery delivered. A failure leaves the status as it is.
 *
 * The states of an attempt:
 *
 * - due: `next_attempt_at` or `manual_at` has passed, and no process has a valid claim.
 * - claimed: `claim` and `claimed_until` describe a lease. A process may claim a delivery when it creates the
 *   delivery.
 * - in flight: the process that claimed the delivery has started the attempt.
 * - unrecorded: the attempt has ended with an outcome that waits for the record step.
 * - recorded: the attempt has a row in `attempts`, and the claim is removed. Only a recorded attempt counts.
 * - abandoned: the attempt was not recorded. Its claim was released (after an internal error, or when the
 *   service stopped), or the claim expired (after a crash, or after an internal error that concerns only this
 *   delivery). The attempt is due again.
 *
 * Invariants, each with the spec that proves it:
 *
 * - No more scheduled attempts are recorded than the schedule allows (six by default), and no scheduled
 *   attempt starts early, even if processes crash: `schedule-model.spec.ts`.
 * - A result under a replaced claim changes nothing: "the result of a replaced claim …", `workers.spec.ts`.
 * - An attempt that a crash interrupts does not count: "when a process is killed during attempts …",
 *   `workers.spec.ts`.
 * - An attempt that fails with an internal error does not count: "without free sockets …",
 *   `send-deliveries.spec.ts`.
 * - The numbers of an account's events have no gaps: `append/event-numbers.spec.ts`.
 * - Every stored event gets each of its deliveries once, in the order of the log: `fan-out/fan-out.spec.ts`.
 * - The work of one account does not delay other accounts: `append/isolation.spec.ts`,
 *   `fan-out/fan-out.spec.ts`.
 * - The backlog of one endpoint does not delay other endpoints: `claim/slots.spec.ts`, and "two hundred
 *   endpoints …" in `workers.spec.ts`.
 */
import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import {
  type BatcherMeters,
  connectDatabase,
  createDeleteMessage,
  type Database,
  type DatabaseServer,
  type Lifecycle,
  type Loops,
  type Metrics,
} from '@leadwire/service-kit'
import type { NatsConnection } from '@nats-io/transport-node'
import { createAppend } from './append/append-in-batches'
import { consumeEvents } from './append/consume-events'
import { readEvent, readNotification, type StoredEvent } from './append/read-event'
import { takeMessages } from './append/take-messages'
import type { DueEndpoint } from './claim/due-endpoints'
import { createDeliveryMetrics } from './delivery-metrics'
import { createFanOut } from './fan-out/fan-out-events'
import { createReviewAttempts } from './report/review-attempts'
import { type SendOptions, sendDeliveries } from './send-deliveries'

/**
 * How much longer a claim is than the longest attempt, in milliseconds. The attempt must be recorded within
 * this time.
 */
const CLAIM_MARGIN_MS = 4000

/** Returns the length of a claim in milliseconds, given the longest time that an attempt may take. */
export const computeClaimMs = (attemptMs: number): number => attemptMs + CLAIM_MARGIN_MS

/**
 * The number of connections that webhooks and notifications share. Each of the two runs up to seven
 * transactions at the same time: a poll, a claim, a fan-out, three appends and a record. Five connections are
 * enough for these 14 transactions, because each transaction takes only milliseconds.
 */
const QUEUE_CONNECTIONS = 5

/**
 * Forbids plans that sort rows, because for each statement an index returns the rows in the order that the
 * statement needs. A poll with 900 waiting endpoints takes 4 ms with these settings, and 300 ms without them.
 */
const PLAN_SETTINGS = ['enable_sort = off', 'enable_bitmapscan = off', 'jit = off']
/**
 * Polls, claims and fan-outs do not wait for the disk. If the database crashes and loses a claim, the attempt
 * is repeated. If the database loses a fan-out, the event is still in the queue.
 */
export const QUEUE_SETTINGS = ['synchronous_commit = off', ...PLAN_SETTINGS]
/** An append waits for the disk, because its messages are acknowledged after the commit. */
const APPEND_SETTINGS = ['synchronous_commit = on', ...PLAN_SETTINGS]

interface Tables {
  database: Database
  /**
   * Connections that are not used by API calls, so that a slow API call never delays the delivery of events.
   */
  results: Database
  /** The connections of `results`, with `QUEUE_SETTINGS`. */
  queue: Database
  /** The connections of `results`, with settings for the append, whose commit waits for the disk. */
  append: Database
}

/** Connects to the tables of webhooks and to the tables of notifications. Both use the same connections. */
export const connectTables = (options: DatabaseServer & { poolSize: number; lifecycle: Lifecycle }) => {
  const database = connectDatabase({ ...options, name: 'webhooks' })
  const results = connectDatabase({ ...options, name: 'webhooks_queue', poolSize: QUEUE_CONNECTIONS })
  const path = ['search_path = notifications']
  const leads: Tables = {
    database,
    results,
    queue: results.with('queue', QUEUE_SETTINGS),
    append: results.with('append', APPEND_SETTINGS),
  }
  const messages: Tables = {
    database: database.with('notifications', path),
    results: results.with('notifications', path),
    queue: results.with('notifications-queue', [...path, ...QUEUE_SETTINGS]),
    append: results.with('notifications-append', [...path, ...APPEND_SETTINGS]),
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

/**
 * Runs all steps of delivery for webhooks or for notifications. Starts to send deliveries at once. Takes
 * events only after `consume` was called with a connection to NATS.
 */
export const deliverEvents = (
  options: Omit<SendOptions, 'database' | 'queue' | 'claimMs' | 'metrics' | 'meters' | 'onReviews'> & {
    kind: 'webhook' | 'notification'
    tables: Tables
    loops: Loops
    /** Writes rows that an event needs before it is appended. */
    prepare?: (event: StoredEvent) => Promise<unknown>
    /** Called after a commit with the accounts whose logs have new events. */
    onLogged?: (accountIds: number[]) => void
    /** Called after a commit that has queued reports about endpoints. */
    onReports: () => void
    /** The longest time that an attempt may take. */
    attemptMs: number
    metrics: Metrics
    meters: BatcherMeters
    replicas: number | undefined
  },
) => {
  const { replicas, kind, tables, loops, prepare, onLogged, onReports, clock, logger } = options
  const { database, results, queue } = tables
  const { read, ...source } = SOURCES[kind]
  const claimMs = computeClaimMs(options.attemptMs)
  const metrics = createDeliveryMetrics({ kind, metrics: options.metrics, queue, claimMs, clock, logger })
  const meters = (name: string) => options.meters(`${kind}_${name}`)

  const review = createReviewAttempts(database, onReports)
  const wakeReview = loops.run(`${kind} reviews`, { pauseMs: 500 }, review)
  const sender = sendDeliveries({
    ...options,
    database: results,
    queue,
    metrics,
    meters,
    claimMs,
    onReviews: wakeReview,
  })

  const onFannedOut = (due: DueEndpoint[]) => sender.onCreated({ claimed: [], due })
  const fanOut = createFanOut({ database: queue, clock, onCreated: onFannedOut })
  const wakeFanOut = loops.run(`${kind} fan-outs`, { pauseMs: 20, idleMs: 5000 }, fanOut)

  const append = createAppend({
    database: tables.append,
    clock,
    meters,
    findClaimLimits: sender.findClaimLimits,
    onAppended: ({ claimed, due, loggedAccountIds, hasQueued }) => {
      sender.onCreated({ claimed, due })
      if (loggedAccountIds.length > 0) onLogged?.(loggedAccountIds)
      if (hasQueued) wakeFanOut()
    },
  })
  const store = async (event: StoredEvent) => {
    await prepare?.(event)
    return append(event)
  }
  let nats: NatsConnection | undefined
  const deleteMessage = createDeleteMessage(() => nats)
  const { take, done } = takeMessages({ read, store, database, deleteMessage, metrics, logger })
  return {
    wake: sender.wake,
    stop: sender.stop,
    done,
    consume: (connection: NatsConnection) => {
      nats = connection
      return consumeEvents({ nats: connection, ...source, replicas, take, logger })
    },
  }
}
