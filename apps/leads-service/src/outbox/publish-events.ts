/*
 * Publishes events to the stream, in two ways.
 *
 * - From memory: the process that has committed events publishes them at once. It does not wait for the
 *   stream's confirmation, and does not record whether publishing succeeded. At most 5,000 events are in
 *   flight this way. The check of the outbox publishes all others.
 * - Confirmed: ten seconds after the commit, `check-outbox.ts` publishes the events that webhook-service has
 *   not stored, and waits for the stream's confirmation.
 */
import { randomUUID } from 'node:crypto'
import { buildMessageId, LEADS_STREAM, leadsStreamConfig } from '@leadwire/contracts'
import {
  activeTraceparent,
  continueTrace,
  ensureStream,
  type Logger,
  newTraceparent,
  SpanKind,
} from '@leadwire/service-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import type { OutboxEvent } from './record-events'

/** An event as it is published. */
export interface PublishedEvent extends Pick<OutboxEvent, 'eventId' | 'type' | 'payload' | 'traceparent'> {
  /**
   * How often the event was published before (`outbox.publish_count`). Absent for the first message, which is
   * published from memory.
   */
  repetition?: number
}

/** Called with the outcome of each attempt to publish an event, and its duration in milliseconds. */
export type ObservePublished = (
  published: { type: OutboxEvent['type']; outcome: 'published' | 'failed' },
  milliseconds: number,
) => void

/**
 * Publishes an event. Resolves when the stream has stored the message. Rejects if the stream may not have
 * stored the message.
 */
export type Publish = (event: PublishedEvent) => Promise<void>

type Send<T> = (subject: string, known: MsgHdrs) => Promise<T>

const findSubject = (type: OutboxEvent['type']): string =>
  type === 'notification.requested' ? LEADS_STREAM.subjects.notifications : LEADS_STREAM.subjects.events

const TIMEOUT_MS = 3000

/** The maximum number of events that are being published from memory at the same time. */
const MAX_IN_FLIGHT = 5000

/** The maximum size of an event's headers, in bytes. */
export const HEADER_BYTES = (() => {
  const known = headers()
  known.set('Nats-Msg-Id', buildMessageId(randomUUID(), Number.MAX_SAFE_INTEGER))
  known.set('traceparent', newTraceparent())
  return Buffer.byteLength(known.toString())
})()

export type Publisher = ReturnType<typeof createPublisher>

/** Makes a publisher. If the stream is missing, because NATS has lost it, the publisher creates it again. */
export const createPublisher = (
  connection: NatsConnection,
  deps: { logger: Logger; observe?: ObservePublished; replicas?: number | undefined },
) => {
  const { logger, observe = () => {}, replicas } = deps
  const stream = jetstream(connection, { timeout: TIMEOUT_MS })
  let ensured: Promise<unknown> | undefined
  const ensureLeads = async () =>
    ensureStream(await jetstreamManager(connection, { timeout: TIMEOUT_MS }), leadsStreamConfig(replicas))

  /** Calls `to` with the event's subject and headers, in a span of the event's trace. */
  const send = <T>(event: PublishedEvent, to: Send<T>): Promise<T> => {
    const { eventId, type, traceparent, repetition = 0 } = event
    const subject = findSubject(type)
    const attributes = { 'messaging.system': 'nats', 'messaging.destination.name': subject }
    return continueTrace(
      traceparent,
      { name: `publish ${subject}`, kind: SpanKind.PRODUCER, attributes },
      () => {
        const known = headers()
        known.set('Nats-Msg-Id', buildMessageId(eventId, repetition))
        const active = activeTraceparent()
        if (active !== undefined) known.set('traceparent', active)
        return to(subject, known)
      },
    )
  }

  /** Creates the stream if it is missing, runs `work`, and observes how long both take together. */
  const observed = async (events: PublishedEvent[], work: () => Promise<unknown>): Promise<void> => {
    ensured ??= ensureLeads()
    const startedAt = performance.now()
    let outcome: 'published' | 'failed' = 'failed'
    try {
      await ensured
      await work()
      outcome = 'published'
    } catch (error) {
      ensured = undefined
      throw error
    } finally {
      const milliseconds = performance.now() - startedAt
      for (const { type } of events) observe({ type, outcome }, milliseconds)
    }
  }

  // Does not wait for confirmations by the stream, which would cost a message and a timer for each event.
  const publishUnconfirmed = (events: PublishedEvent[]): Promise<void> =>
    observed(events, async () => {
      const sent = events.map((event) =>
        send(event, async (subject, known) => connection.publish(subject, event.payload, { headers: known })),
      )
      await Promise.all(sent)
      await connection.flush()
    })

  let inFlightCount = 0
  const inFlight = new Set<Promise<void>>()

  const publish: Publish = (event) =>
    observed([event], () =>
      send(event, (subject, known) => stream.publish(subject, event.payload, { headers: known })),
    )

  return {
    publish,
    /** Publishes events that this process has just committed. Returns at once. */
    publishFromMemory: (events: OutboxEvent[]): void => {
      const some = events.slice(0, MAX_IN_FLIGHT - inFlightCount)
      if (some.length === 0) return
      inFlightCount += some.length
      const publishing = publishUnconfirmed(some)
        .catch((error) =>
          logger.debug(
            { err: error, events: some.length },
            'could not publish events from memory; the check of the outbox publishes them',
          ),
        )
        .finally(() => {
          inFlightCount -= some.length
          inFlight.delete(publishing)
        })
      inFlight.add(publishing)
    },
    /**
     * Resolves when no publication from memory is in flight. The check of the outbox publishes the events
     * that failed.
     */
    finish: async (): Promise<void> => void (await Promise.all(inFlight)),
  }
}
