import { eventIdOf } from '@leadwire/contracts'
import { inSpanOf, isTimedOut, type Logger, parseTraceparent, SpanKind } from '@leadwire/service-kit'
import type { JsMsg } from '@nats-io/jetstream'
import { LRUCache } from 'lru-cache'
import { isUuid } from '../uuid'
import { createMessagesInHand } from './messages-in-hand'
import type { StoreResult } from './store-events'
import type { StoredEvent, UnfitEvent } from './stored-event'

const RETRY_MS = 1000
const RETRY_AT_MOST_MS = 60_000
/** So often JetStream keeps a message for us that can't be stored now. Then the outbox does, and publishes it again. */
const HANDED_BACK_AT_MOST = 3

/** Reads a message. Throws UnfitEvent for what is no event or notification, or one with broken parts. */
export type Read = (message: Uint8Array) => StoredEvent

/** Doubled with each time that the message came. */
const pauseOf = ({ info }: JsMsg) => Math.min(RETRY_AT_MOST_MS, RETRY_MS * 2 ** info.deliveryCount)

/**
 * Takes messages of JetStream to their end: stored, and acknowledged when that is on the disk. While the database is unavailable,
 * they are handed back and come again. One that can't be read or stored is counted, logged once for each event, written down for the
 * outbox, which keeps it and publishes it no more, and terminated: it never stands in the way of the others.
 *
 * A message that is handed back holds its place in the consumer's `max_ack_pending`, which all accounts share. So of an
 * account that has more in hand than its share, or with an event whose transaction takes too long, it is only a few times; then it
 * is let go, and comes from the outbox again: that waits until all messages before it have come to their end.
 */
export const takeMessages = (options: {
  /** Resolves when it is stored, and no crash of the database undoes that. */
  store: (event: StoredEvent) => Promise<StoreResult>
  /** Resolves when it is written down. */
  recordRefusal: (refused: { eventId: string; sequence: number; reason: string }) => Promise<void>
  metrics: { eventsTaken: { inc(): void }; eventsRefused: { inc(): void } }
  logger: Logger
}): { take: (message: JsMsg, read: Read) => void; settled: () => Promise<unknown> } => {
  const { store, recordRefusal, metrics, logger } = options
  const underWay = new Set<Promise<void>>()
  const inHand = createMessagesInHand()
  const refused = new LRUCache<string, true>({ max: 10_000 })

  const waitForDatabase = (message: JsMsg, error: unknown, eventId: string) => {
    logger.warn({ err: error, event_id: eventId }, 'an event waits for the database')
    message.nak(RETRY_MS)
  }

  const refuse = async (message: JsMsg, error: unknown, eventId: string) => {
    const { seq: sequence } = message
    try {
      // What somebody else published has no id, and no outbox to hear of it.
      if (isUuid(eventId)) await recordRefusal({ eventId, sequence, reason: (error as Error).message })
    } catch (failure) {
      return waitForDatabase(message, failure, eventId)
    }
    metrics.eventsRefused.inc()
    if (!refused.has(eventId))
      logger.error({ err: error, event_id: eventId, sequence }, 'an event is refused')
    refused.set(eventId, true)
    // Without a reason: servers before 2.11 don't know an acknowledgement that carries one.
    message.term()
  }

  const handBack = (message: JsMsg) => {
    if (message.info.deliveryCount > HANDED_BACK_AT_MOST) message.term()
    else message.nak(pauseOf(message))
  }

  const storeAndAnswer = async (message: JsMsg, event: StoredEvent) => {
    try {
      const result = await store(event)
      if (result === 'stored') {
        metrics.eventsTaken.inc()
        message.ack()
      } else if (isTimedOut(result.fault)) {
        logger.warn({ err: result.fault, event_id: event.id }, 'storing an event took too long')
        handBack(message)
      } else await refuse(message, result.fault, event.id)
    } catch (error) {
      waitForDatabase(message, error, event.id)
    }
  }

  const settle = async (message: JsMsg, read: Read) => {
    let event: StoredEvent
    try {
      event = read(message.data)
      event.streamSequence = message.seq
      // A notification does not say it itself.
      event.traceparent ??= parseTraceparent(message.headers?.get('traceparent')) ?? null
    } catch (error) {
      // By the id that the outbox gave it, whatever is in it.
      const published = eventIdOf(message.headers?.get('Nats-Msg-Id') ?? '')
      const { eventId = `sequence ${message.seq}` } = error as UnfitEvent
      return refuse(message, error, isUuid(published) ? published : eventId)
    }
    if (!inHand.hasRoomFor(event.accountId)) return handBack(message)
    await inHand.during(message, event, () => storeAndAnswer(message, event))
  }

  return {
    take: (message, read) => {
      const span = { name: `process ${message.subject}`, kind: SpanKind.CONSUMER }
      const work = inSpanOf(message.headers?.get('traceparent'), span, () => settle(message, read))
        .catch((error) => logger.warn({ err: error }, 'could not answer JetStream: the message comes again'))
        .finally(() => underWay.delete(work))
      underWay.add(work)
    },
    settled: async () => {
      await Promise.all(underWay)
      inHand.stop()
    },
  }
}
