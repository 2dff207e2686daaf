import { gather, type Logger, ServiceError } from '@leadwire/service-kit'
import type { JsMsg } from '@nats-io/jetstream'
import { readLeadCreated, type StoredEvent } from './read-lead-created'

const RETRY_MS = 1000

// Class 22 data exception, 23 integrity: PostgreSQL will say the same next time.
const isFaultOfTheData = (error: unknown) => /^2[23]/.test((error as { code?: string }).code ?? '')

/**
 * Takes messages of JetStream to their end: stored, many in one transaction, and acknowledged when that is on the disk. While
 * the database is away they are handed back and come again. One that can't be read or stored is logged and
 * terminated: it never stands in the way of the others, and the outbox it came from still has it.
 */
export const takeLeadMessages = (options: {
  /** Resolves when they are stored, with what resolves when no crash of the database undoes that. */
  store: (events: StoredEvent[]) => Promise<{ durable: Promise<unknown> }>
  logger: Logger
}): { take: (message: JsMsg) => void; settled: () => Promise<unknown> } => {
  const { store, logger } = options
  const underWay = new Set<Promise<void>>()

  // Answers with the fault of each event; many together first, each alone when one of them is at fault.
  const storeMany = async (
    events: StoredEvent[],
  ): Promise<{ fault?: unknown; durable?: Promise<unknown> }[]> => {
    try {
      const { durable } = await store(events)
      return events.map(() => ({ durable }))
    } catch (error) {
      if (!isFaultOfTheData(error)) throw error
      if (events.length === 1) return [{ fault: error }]
      return (await Promise.all(events.map((event) => storeMany([event])))).flat()
    }
  }
  const storeOne = gather({ send: storeMany, maxBatch: 100, maxInFlight: 2, maxQueued: 10_000 })

  const terminate = (message: JsMsg, error: unknown) => {
    logger.error({ err: error, sequence: message.seq }, 'a lead event can never be stored')
    // Without a reason: servers before 2.11 don't know an acknowledgement that carries one.
    message.term()
  }

  const settle = async (message: JsMsg) => {
    let event: StoredEvent
    try {
      event = readLeadCreated(message.data)
    } catch (error) {
      return terminate(message, error)
    }
    try {
      const { fault, durable } = await storeOne(event)
      if (fault) return terminate(message, fault)
      await durable
      message.ack()
    } catch (error) {
      const away = error instanceof ServiceError
      logger[away ? 'warn' : 'error'](
        { err: error, event_id: event.id },
        'a lead event waits for the database',
      )
      message.nak(RETRY_MS)
    }
  }

  return {
    take: (message) => {
      const work = settle(message)
        .catch((error) => logger.warn({ err: error }, 'could not answer JetStream: the message comes again'))
        .finally(() => underWay.delete(work))
      underWay.add(work)
    },
    settled: () => Promise.all(underWay),
  }
}
