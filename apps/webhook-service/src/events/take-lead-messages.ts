import { gather, type Logger, ServiceError } from '@leadwire/service-kit'
import type { JsMsg } from '@nats-io/jetstream'
import { readLeadCreated, type StoredEvent } from './read-lead-created'

const RETRY_MS = 1000

// Class 22 data exception, 23 integrity: PostgreSQL will say the same next time.
const isFaultOfTheData = (error: unknown) => /^2[23]/.test((error as { code?: string }).code ?? '')

/**
 * Takes messages of JetStream to their end: stored, many in one transaction, and acknowledged after the commit. While
 * the database is away they are handed back and come again. One that can't be read or stored is logged and
 * terminated: it never stands in the way of the others, and the outbox it came from still has it.
 */
export const takeLeadMessages = (options: {
  store: (events: StoredEvent[]) => Promise<void>
  logger: Logger
}): { take: (message: JsMsg) => void; settled: () => Promise<unknown> } => {
  const { store, logger } = options
  const underWay = new Set<Promise<void>>()

  // Answers with the fault of each event; many together first, each alone when one of them is at fault.
  const storeMany = async (events: StoredEvent[]): Promise<unknown[]> => {
    try {
      await store(events)
      return events.map(() => undefined)
    } catch (error) {
      if (!isFaultOfTheData(error)) throw error
      if (events.length === 1) return [error]
      return (await Promise.all(events.map((event) => storeMany([event])))).flat()
    }
  }
  const storeOne = gather({ send: storeMany, maxBatch: 100, maxInFlight: 4, maxQueued: 10_000 })

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
      const fault = await storeOne(event)
      if (fault) return terminate(message, fault)
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
