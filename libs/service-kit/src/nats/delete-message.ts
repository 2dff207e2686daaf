import { LEADS_STREAM, readEventId } from '@leadwire/contracts'
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { ServiceError } from '../errors/service-error'

const TIMEOUT_MS = 3000
const NOT_FOUND = 404

const unlessMissing = (error: unknown): null => {
  if (error instanceof JetStreamApiError && error.apiError().code === NOT_FOUND) return null
  throw error
}

/** The message of an event: the event's id, and the message's sequence number in the stream. */
export interface EventMessage {
  eventId: string
  sequence: number
}

export type DeleteMessage = (message: EventMessage) => Promise<void>

/**
 * Returns a function that deletes the message of an event from the stream and overwrites its bytes. Does
 * nothing if the message is missing, or if `sequence` belongs to another event. The latter occurs after the
 * stream was lost, because its sequence numbers then start again. Throws `unavailable` if NATS is not
 * connected.
 */
export const createDeleteMessage =
  (connection: () => NatsConnection | undefined): DeleteMessage =>
  async ({ eventId, sequence }) => {
    const nats = connection()
    if (!nats) throw new ServiceError('unavailable', 'NATS is unavailable.')
    const { streams } = await jetstreamManager(nats, { checkAPI: false, timeout: TIMEOUT_MS })
    const message = await streams.getMessage(LEADS_STREAM.name, { seq: sequence }).catch(unlessMissing)
    if (!message || readEventId(message.header.get('Nats-Msg-Id')) !== eventId) return
    await streams.deleteMessage(LEADS_STREAM.name, sequence).catch(unlessMissing)
  }
