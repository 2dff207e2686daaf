import { eventIdOf, isUuid } from '@leadwire/contracts'
import {
  createFairQueue,
  inSpanOf,
  isTimedOut,
  type Logger,
  parseTraceparent,
  SpanKind,
  statement,
  type Transaction,
} from '@leadwire/service-kit'
import type { JsMsg } from '@nats-io/jetstream'
import { LRUCache } from 'lru-cache'
import { bytesOf, type Read, type StoredEvent } from './read-event'
import type { StoreResult } from './store-in-batches'

const RETRY_MS = 1000
const MAX_RETRY_MS = 60_000
/** How often a message that can't be stored now is returned to JetStream. Then the outbox publishes its event again. */
const MAX_RETURNS = 3

/** What may be in flight of all accounts. Beyond it an account has at most its share, and up to twice as much is in flight. */
const IN_FLIGHT = { messages: 4000, bytes: 32 * 1024 * 1024 }
const SHARE = 1 / 4
const OVERLOAD = 2

/** JetStream redelivers a message that was not acknowledged within the consumer's `ack_wait`, unless it is renewed. */
const RENEW_EVERY_MS = 2000

const MAX_REASON = 500

const recordDeadLetter = statement('record-dead-letter')`
  INSERT INTO dead_letters (event_id, stream_sequence, reason) VALUES ($1, $2, $3)
  ON CONFLICT (event_id) DO UPDATE
  SET stream_sequence = excluded.stream_sequence, reason = excluded.reason, recorded_at = excluded.recorded_at`

const createInFlight = () => {
  const startedAt = new Map<JsMsg, number>()
  let all = 0
  // Nothing waits: messages are returned to JetStream instead.
  const enter = createFairQueue({ shareOf: () => (all < 1 ? 1 : SHARE), capacity: OVERLOAD })
  const timer = setInterval(() => {
    const old = performance.now() - RENEW_EVERY_MS / 2
    for (const [message, at] of startedAt) if (at < old) message.working()
  }, RENEW_EVERY_MS).unref()
  return {
    /** Resolves to what ends it; undefined while there is no room for a message of this account. */
    start: async (message: JsMsg, event: StoredEvent): Promise<(() => void) | undefined> => {
      const cost = Math.max(1 / IN_FLIGHT.messages, bytesOf(event) / IN_FLIGHT.bytes)
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
 * Stores the events of JetStream messages, and acknowledges each when its event is on the disk. While the database is unavailable,
 * messages are returned. An invalid event becomes a dead letter, which the outbox stops publishing, and is terminated.
 *
 * A returned message counts in `max_ack_pending`, which all accounts share. So a message of an account with too much in flight, or of
 * an event that takes too long to store, is returned a few times, then terminated; the outbox publishes its event again later.
 */
export const takeMessages = (options: {
  read: Read
  store: (event: StoredEvent) => Promise<StoreResult>
  database: Transaction
  metrics: { eventsTaken: { inc(): void }; eventsRefused: { inc(): void } }
  logger: Logger
}): { take: (message: JsMsg) => void; done: () => Promise<unknown> } => {
  const { read, store, database, metrics, logger } = options
  const working = new Set<Promise<void>>()
  const inFlight = createInFlight()
  const logged = new LRUCache<string, true>({ max: 10_000 })

  const waitForDatabase = (message: JsMsg, error: unknown, eventId: string) => {
    logger.warn({ err: error, event_id: eventId }, 'an event waits for the database')
    message.nak(RETRY_MS)
  }

  const reject = async (message: JsMsg, error: unknown, eventId: string) => {
    const { seq: sequence } = message
    // PostgreSQL stores no NUL in a text.
    const reason = (error as Error).message.replaceAll('\0', '').slice(0, MAX_REASON)
    try {
      // A message without an id did not come from the outbox.
      if (isUuid(eventId)) await recordDeadLetter(database, eventId, sequence, reason)
    } catch (failure) {
      return waitForDatabase(message, failure, eventId)
    }
    metrics.eventsRefused.inc()
    if (!logged.has(eventId)) logger.error({ err: error, event_id: eventId, sequence }, 'an event is invalid')
    logged.set(eventId, true)
    // Without a reason: servers before 2.11 don't know an acknowledgement that carries one.
    message.term()
  }

  const returnMessage = (message: JsMsg) => {
    const { deliveryCount } = message.info
    if (deliveryCount > MAX_RETURNS) message.term()
    else message.nak(Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** deliveryCount))
  }

  const storeAndAnswer = async (message: JsMsg, event: StoredEvent) => {
    try {
      const result = await store(event)
      if (result === 'stored') {
        metrics.eventsTaken.inc()
        message.ack()
      } else if (isTimedOut(result.error)) {
        logger.warn({ err: result.error, event_id: event.id }, 'storing an event took too long')
        returnMessage(message)
      } else await reject(message, result.error, event.id)
    } catch (error) {
      waitForDatabase(message, error, event.id)
    }
  }

  const answer = async (message: JsMsg) => {
    let event: StoredEvent
    try {
      event = read(message.data)
      event.streamSequence = message.seq
      // A notification has none of its own.
      event.traceparent ??= parseTraceparent(message.headers?.get('traceparent')) ?? null
    } catch (error) {
      // The id that the outbox published it with, whatever the message contains.
      const published = eventIdOf(message.headers?.get('Nats-Msg-Id') ?? '')
      const { eventId = `sequence ${message.seq}` } = error as { eventId?: string }
      return reject(message, error, isUuid(published) ? published : eventId)
    }
    const end = await inFlight.start(message, event)
    if (!end) return returnMessage(message)
    await storeAndAnswer(message, event).finally(end)
  }

  return {
    take: (message) => {
      const span = { name: `process ${message.subject}`, kind: SpanKind.CONSUMER }
      const work = inSpanOf(message.headers?.get('traceparent'), span, () => answer(message))
        .catch((error) => logger.warn({ err: error }, 'could not answer JetStream: the message comes again'))
        .finally(() => working.delete(work))
      working.add(work)
    },
    done: async () => {
      await Promise.all(working)
      inFlight.stop()
    },
  }
}
