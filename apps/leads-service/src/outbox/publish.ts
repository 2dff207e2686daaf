import { randomUUID } from 'node:crypto'
import { LEADS_STREAM, LEADS_STREAM_CONFIG, messageIdOf } from '@leadwire/contracts'
import { ensureStream } from '@leadwire/service-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/transport-node'
import type { OutboxEvent } from './record-events'

/** An event as it is published. */
export interface PublishedEvent extends Pick<OutboxEvent, 'eventId' | 'kind' | 'payload'> {
  /** The sequence number it had, if it was published before and lost. */
  sequence?: number | null
}

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
  return Buffer.byteLength(known.toString())
})()

/** Publishes to the stream, which is made when it is missing: it may have been lost with everything in it. */
export const publishTo = (connection: NatsConnection): Publish => {
  const stream = jetstream(connection, { timeout: TIMEOUT_MS })
  let ensured: Promise<unknown> | undefined
  const ensureLeads = async () =>
    ensureStream(await jetstreamManager(connection, { timeout: TIMEOUT_MS }), LEADS_STREAM_CONFIG)
  return async ({ eventId, kind, payload, sequence }) => {
    ensured ??= ensureLeads()
    try {
      await ensured
      return (await stream.publish(SUBJECTS[kind], payload, { msgID: messageIdOf(eventId, sequence) })).seq
    } catch (error) {
      ensured = undefined
      throw error
    }
  }
}
