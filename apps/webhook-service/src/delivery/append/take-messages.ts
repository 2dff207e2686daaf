import { isUuid, readEventId } from '@leadwire/contracts'
import {
  continueTrace,
  createFairQueue,
  type DeleteMessage,
  isTimedOut,
  type Logger,
  limitRepeats,
  parseTraceparent,
  SpanKind,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import type { JsMsg } from '@nats-io/jetstream'
import { LRUCache } from 'lru-cache'
import type { AppendResult } from './append-in-batches'
import { countBytes, type Read, type StoredEvent } from './read-event'
import { recordMessages } from './record-messages'

const RETRY_MS = 1000
/**
 * A message that finds no room, or takes too long to store, is returned to JetStream if this was one of its
 * first three deliveries. After a later delivery, the message is terminated, and the outbox publishes the
 * event again.
 */
const MAX_RETURNS = 3

/**
 * How many messages and bytes may normally be in flight, for all accounts together. A single account may use
 * this whole limit. Once the limit is reached, an account may have at most the fraction `SHARE` of the limit
 * in flight. All accounts together never exceed `OVERLOAD` times the limit.
 */
const IN_FLIGHT = { messages: 4000, bytes: 32 * 1024 * 1024 }
const SHARE = 1 / 4
const OVERLOAD = 2

/**
 * How often messages in flight are renewed. JetStream redelivers a message that is neither acknowledged nor
 * renewed within the consumer's `ack_wait`.
 */
const RENEW_EVERY_MS = 2000

/** The maximum length of a dead letter's reason in characters. A longer reason is cut. */
const MAX_REASON = 500

const recordDeadLetter = statement('record-dead-letter')`
  INSERT INTO dead_letters (event_id, stream_sequence, reason) VALUES ($1, $2, $3)
  ON CONFLICT (event_id) DO UPDATE
  SET stream_sequence = excluded.stream_sequence, reason = excluded.reason, recorded_at = excluded.recorded_at`

/**
 * Creates the limit of messages in flight. Also renews the messages in flight, so that JetStream does not
 * redeliver them.
 */
const createInFlight = () => {
  const startedAt = new Map<JsMsg, number>()
  /** How much is in flight, as a fraction of `IN_FLIGHT`. */
  let all = 0
  // Messages that find no room are returned to JetStream. They do not wait in this queue.
  const enter = createFairQueue({ computeShare: () => (all < 1 ? 1 : SHARE), capacity: OVERLOAD })
  const timer = setInterval(() => {
    const old = performance.now() - RENEW_EVERY_MS / 2
    for (const [message, at] of startedAt) if (at < old) message.working()
  }, RENEW_EVERY_MS).unref()
  return {
    /**
     * Counts a message as in flight. Resolves with the function to call when the message is done, or with
     * undefined if its account has no room for the message.
     */
    start: async (message: JsMsg, event: StoredEvent): Promise<(() => void) | undefined> => {
      const cost = Math.max(1 / IN_FLIGHT.messages, countBytes(event) / IN_FLIGHT.bytes)
      const leave = await enter(event.accountId, cost).catch(() => undefined)
      if (!leave) return undefined
      all += cost
      startedAt.set(message, performance.now())
      return () => {
        all -= cost
        startedAt.delete(message)
        leave()
      }
    },
    stop: () => clearInterval(timer),
  }
}

/**
 * Stores the events of JetStream messages, and acknowledges each message when its event is on the disk.
 *
 * - If the database is unavailable, the message is returned to JetStream.
 * - If the event is invalid, the event is recorded as a dead letter and the message is terminated. The outbox
 *   stops publishing the event.
 * - If the event was erased, the message is deleted from the stream.
 * - If the account has too much in flight, or storing the event takes too long, the message is returned a few
 *   times and then terminated. The outbox publishes the event again later. The number of returns is limited,
 *   because returned messages count towards `max_ack_pending`, which all accounts share.
 */
export const takeMessages = (options: {
  read: Read
  store: (event: StoredEvent) => Promise<AppendResult>
  database: Transaction
  deleteMessage: DeleteMessage
  metrics: { eventsTaken: { inc(): void }; eventsRefused: { inc(): void } }
  logger: Logger
}): { take: (message: JsMsg) => void; done: () => Promise<unknown> } => {
  const { read, store, database, deleteMessage, metrics, logger } = options
  const working = new Set<Promise<void>>()
  const inFlight = createInFlight()
  const failures = limitRepeats(logger)
  const logged = new LRUCache<string, true>({ max: 10_000 })

  const returnAfterError = (message: JsMsg, error: unknown, eventId: string) => {
    failures.warn({ err: error, event_id: eventId }, 'could not store an event; retrying')
    message.nak(RETRY_MS)
  }

  const reject = async (message: JsMsg, error: unknown, eventId: string) => {
    const { seq: sequence } = message
    // Removes NUL, because PostgreSQL rejects a text that contains NUL.
    const reason = (error as Error).message.replaceAll('\0', '').slice(0, MAX_REASON)
    // A message without an id did not come from the outbox, so no dead letter is recorded for it.
    const isFromOutbox = isUuid(eventId)
    let isErased = false
    try {
      if (isFromOutbox) isErased = (await recordMessages(database, [{ eventId, sequence }])).has(eventId)
      if (isFromOutbox && !isErased) await recordDeadLetter(database, eventId, sequence, reason)
    } catch (failure) {
      return returnAfterError(message, failure, eventId)
    }
    if (isErased) await deleteMessage({ eventId, sequence })
    metrics.eventsRefused.inc()
    if (!logged.has(eventId)) logger.error({ err: error, event_id: eventId, sequence }, 'an event is invalid')
    logged.set(eventId, true)
    // Passes no reason, because NATS servers before 2.11 do not understand a termination with a reason.
    message.term()
  }

  const returnMessage = (message: JsMsg) => {
    const { deliveryCount } = message.info
    if (deliveryCount > MAX_RETURNS) message.term()
    else message.nak(RETRY_MS * 2 ** deliveryCount)
  }

  const storeAndAcknowledge = async (message: JsMsg, event: StoredEvent) => {
    let result: AppendResult
    try {
      result = await store(event)
    } catch (error) {
      return returnAfterError(message, error, event.id)
    }
    if (result === 'stored' || result === 'erased') {
      if (result === 'erased') await deleteMessage({ eventId: event.id, sequence: message.seq })
      metrics.eventsTaken.inc()
      message.ack()
    } else if (isTimedOut(result.error)) {
      logger.warn({ err: result.error, event_id: event.id }, 'storing an event took too long')
      returnMessage(message)
    } else await reject(message, result.error, event.id)
  }

  const processMessage = async (message: JsMsg) => {
    let event: StoredEvent
    try {
      event = read(message.data)
      event.streamSequence = message.seq
      // Notifications carry the traceparent only in this header.
      event.traceparent ??= parseTraceparent(message.headers?.get('traceparent')) ?? null
    } catch (error) {
      // Prefers the id under which the outbox published the message, because the message may contain another
      // id.
      const published = readEventId(message.headers?.get('Nats-Msg-Id') ?? '')
      const { eventId = `sequence ${message.seq}` } = error as { eventId?: string }
      return reject(message, error, isUuid(published) ? published : eventId)
    }
    const end = await inFlight.start(message, event)
    if (!end) return returnMessage(message)
    await storeAndAcknowledge(message, event).finally(end)
  }

  return {
    take: (message) => {
      const span = { name: `process ${message.subject}`, kind: SpanKind.CONSUMER }
      const work = continueTrace(message.headers?.get('traceparent'), span, () => processMessage(message))
        .catch((error) =>
          failures.warn({ err: error }, 'could not acknowledge a message; JetStream redelivers it'),
        )
        .finally(() => working.delete(work))
      working.add(work)
    },
    done: async () => {
      await Promise.all(working)
      inFlight.stop()
    },
  }
}
