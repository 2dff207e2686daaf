import type { Logger } from '@leadwire/service-kit'
import type { JsMsg } from '@nats-io/jetstream'
import { LRUCache } from 'lru-cache'
import { createMessagesInHand } from './messages-in-hand'
import { isLate, type StoreResult } from './store-events'
import type { StoredEvent, UnfitEvent } from './stored-event'

const RETRY_MS = 1000
const RETRY_AT_MOST_MS = 60_000
/** So often JetStream keeps a message for us that there is no room for. Then the outbox does, and publishes it again. */
const HANDED_BACK_AT_MOST = 3

/** Doubled with each time that the message came. */
const pauseOf = ({ info }: JsMsg) => Math.min(RETRY_AT_MOST_MS, RETRY_MS * 2 ** info.deliveryCount)

/**
 * Takes messages of JetStream to their end: stored, and acknowledged when that is on the disk. While the database is away,
 * or an event's transaction takes too long, they are handed back and come again. One that can't be read or stored is
 * counted, logged once for each event, and terminated: it never stands in the way of the others, and the outbox it came
 * from still has it.
 *
 * A message that is handed back holds its place in the consumer's `max_ack_pending`, which all accounts share. So of an
 * account that has more in hand than its share it is only a few times; then it is let go, and comes from the outbox.
 */
export const takeMessages = (options: {
  /** Throws UnfitEvent for what is no event of this kind, or one with broken parts. */
  read: (message: Uint8Array) => StoredEvent
  /** Resolves when it is stored, with what resolves when no crash of the database undoes that. */
  store: (event: StoredEvent) => Promise<StoreResult>
  metrics: { eventsTaken: { inc(): void }; eventsRefused: { inc(): void } }
  logger: Logger
}): { take: (message: JsMsg) => void; settled: () => Promise<unknown> } => {
  const { read, store, metrics, logger } = options
  const underWay = new Set<Promise<void>>()
  const inHand = createMessagesInHand()
  // The outbox's sweep publishes again what was refused, every quarter of a minute.
  const refused = new LRUCache<string, true>({ max: 10_000 })

  const refuse = (message: JsMsg, error: unknown, eventId: string) => {
    metrics.eventsRefused.inc()
    if (!refused.has(eventId))
      logger.error({ err: error, event_id: eventId, sequence: message.seq }, 'an event is refused')
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
      if (!('fault' in result)) {
        metrics.eventsTaken.inc()
        await result.durable
        message.ack()
      } else if (isLate(result.fault)) {
        logger.warn({ err: result.fault, event_id: event.id }, 'storing an event took too long')
        message.nak(pauseOf(message))
      } else refuse(message, result.fault, event.id)
    } catch (error) {
      logger.warn({ err: error, event_id: event.id }, 'an event waits for the database')
      message.nak(RETRY_MS)
    }
  }

  const settle = async (message: JsMsg) => {
    let event: StoredEvent
    try {
      event = read(message.data)
    } catch (error) {
      const { eventId = `sequence ${message.seq}` } = error as UnfitEvent
      return refuse(message, error, eventId)
    }
    if (!inHand.hasRoomFor(event.accountId)) return handBack(message)
    await inHand.during(message, event, () => storeAndAnswer(message, event))
  }

  return {
    take: (message) => {
      const work = settle(message)
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
