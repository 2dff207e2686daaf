import { randomUUID } from 'node:crypto'
import { LEADS_STREAM, leadsStreamConfig, messageIdOf } from '@leadwire/contracts'
import { activeTraceparent, ensureStream, inSpanOf, newTraceparent, SpanKind } from '@leadwire/service-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import type { OutboxEvent } from './record-events'

/** An event as it is published. */
export interface PublishedEvent extends Pick<OutboxEvent, 'eventId' | 'type' | 'payload' | 'traceparent'> {
  /** The sequence number it had, if it was published before and lost. */
  sequence?: number | null
}

/** Called with the outcome of each attempt to publish an event, and its duration in milliseconds. */
export type ObservePublished = (
  published: { type: OutboxEvent['type']; outcome: 'published' | 'failed' },
  milliseconds: number,
) => void

/** Publishes an event; resolves with its sequence number when the stream has stored it. */
export type Publish = (event: PublishedEvent) => Promise<number>

/** Publishes events without waiting for the stream, which would cost a message and a timer for each; resolves when NATS has them. */
export type PublishUnconfirmed = (events: PublishedEvent[]) => Promise<void>

type Send<T> = (subject: string, known: MsgHdrs) => Promise<T>

const subjectOf = (type: OutboxEvent['type']): string =>
  type === 'notification.requested' ? LEADS_STREAM.subjects.notifications : LEADS_STREAM.subjects.events

const TIMEOUT_MS = 3000

/** How many bytes the headers of an event have at most. Its id is a UUID. */
export const HEADER_BYTES = (() => {
  const known = headers()
  known.set('Nats-Msg-Id', messageIdOf(randomUUID(), Number.MAX_SAFE_INTEGER))
  known.set('traceparent', newTraceparent())
  return Buffer.byteLength(known.toString())
})()

/** Publishes to the stream, which is made when it is missing: it may have been lost with everything in it. */
export const createPublisher = (
  connection: NatsConnection,
  { observe = () => {}, replicas }: { observe?: ObservePublished; replicas?: number | undefined } = {},
): { publish: Publish; publishUnconfirmed: PublishUnconfirmed } => {
  const stream = jetstream(connection, { timeout: TIMEOUT_MS })
  let ensured: Promise<unknown> | undefined
  const ensureLeads = async () =>
    ensureStream(await jetstreamManager(connection, { timeout: TIMEOUT_MS }), leadsStreamConfig(replicas))

  /** Calls `send` in the event's trace, with its subject and headers. */
  const send = <T>({ eventId, type, sequence, traceparent }: PublishedEvent, to: Send<T>): Promise<T> => {
    const subject = subjectOf(type)
    const attributes = { 'messaging.system': 'nats', 'messaging.destination.name': subject }
    return inSpanOf(traceparent, { name: `publish ${subject}`, kind: SpanKind.PRODUCER, attributes }, () => {
      const known = headers()
      known.set('Nats-Msg-Id', messageIdOf(eventId, sequence))
      const active = activeTraceparent()
      if (active !== undefined) known.set('traceparent', active)
      return to(subject, known)
    })
  }
  /** Does `work` when there is a stream, and observes how long it takes. */
  const observed = async <T>(events: PublishedEvent[], work: () => Promise<T>): Promise<T> => {
    ensured ??= ensureLeads()
    const startedAt = performance.now()
    let outcome: 'published' | 'failed' = 'failed'
    try {
      await ensured
      const result = await work()
      outcome = 'published'
      return result
    } catch (error) {
      ensured = undefined
      throw error
    } finally {
      const milliseconds = performance.now() - startedAt
      for (const { type } of events) observe({ type, outcome }, milliseconds)
    }
  }
  return {
    publish: (event) =>
      observed([event], async () => {
        const { seq } = await send(event, (subject, known) =>
          stream.publish(subject, event.payload, { headers: known }),
        )
        return seq
      }),
    publishUnconfirmed: (events) =>
      observed(events, async () => {
        const sent = events.map((event) =>
          send(event, async (subject, known) =>
            connection.publish(subject, event.payload, { headers: known }),
          ),
        )
        await Promise.all(sent)
        await connection.flush()
      }),
  }
}
