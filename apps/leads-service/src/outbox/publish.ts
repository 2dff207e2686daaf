import { randomUUID } from 'node:crypto'
import { LEADS_STREAM, leadsStreamConfig, messageIdOf } from '@leadwire/contracts'
import { activeTraceparent, ensureStream, inSpanOf, newTraceparent, SpanKind } from '@leadwire/service-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/transport-node'
import type { OutboxEvent } from './record-events'

/** An event as it is published. */
export interface PublishedEvent extends Pick<OutboxEvent, 'eventId' | 'kind' | 'payload' | 'traceparent'> {
  /** The sequence number it had, if it was published before and lost. */
  sequence?: number | null
}

/** Is told of each attempt to publish an event, and how many milliseconds it took. */
export type ObservePublished = (
  published: { kind: OutboxEvent['kind']; outcome: 'published' | 'failed' },
  milliseconds: number,
) => void

/** Publishes an event; resolves with its sequence number when the stream has stored it. */
export type Publish = (event: PublishedEvent) => Promise<number>

const SUBJECTS: Record<OutboxEvent['kind'], string> = {
  'lead.created': LEADS_STREAM.subjects.leadCreated,
  'lead.changed': LEADS_STREAM.subjects.leadChanged,
  'notification.requested': LEADS_STREAM.subjects.notificationRequested,
}

const TIMEOUT_MS = 3000

/** How many bytes the headers of an event have at most. Its id is a UUID. */
export const HEADER_BYTES = (() => {
  const known = headers()
  known.set('Nats-Msg-Id', messageIdOf(randomUUID(), Number.MAX_SAFE_INTEGER))
  known.set('traceparent', newTraceparent())
  return Buffer.byteLength(known.toString())
})()

/** Publishes to the stream, which is made when it is missing: it may have been lost with everything in it. */
export const publishTo = (
  connection: NatsConnection,
  { observe = () => {}, replicas }: { observe?: ObservePublished; replicas?: number | undefined } = {},
): Publish => {
  const stream = jetstream(connection, { timeout: TIMEOUT_MS })
  let ensured: Promise<unknown> | undefined
  const ensureLeads = async () =>
    ensureStream(await jetstreamManager(connection, { timeout: TIMEOUT_MS }), leadsStreamConfig(replicas))
  const publish = ({ eventId, kind, payload, sequence, traceparent }: PublishedEvent) => {
    const subject = SUBJECTS[kind]
    const attributes = { 'messaging.system': 'nats', 'messaging.destination.name': subject }
    return inSpanOf(traceparent, { name: `publish ${subject}`, kind: SpanKind.PRODUCER, attributes }, () => {
      const told = activeTraceparent()
      const options = { msgID: messageIdOf(eventId, sequence) }
      if (told === undefined) return stream.publish(subject, payload, options)
      const traced = headers()
      traced.set('traceparent', told)
      return stream.publish(subject, payload, { ...options, headers: traced })
    })
  }
  return async (event) => {
    const { kind } = event
    ensured ??= ensureLeads()
    const startedAt = performance.now()
    try {
      await ensured
      const { seq } = await publish(event)
      observe({ kind, outcome: 'published' }, performance.now() - startedAt)
      return seq
    } catch (error) {
      ensured = undefined
      observe({ kind, outcome: 'failed' }, performance.now() - startedAt)
      throw error
    }
  }
}
