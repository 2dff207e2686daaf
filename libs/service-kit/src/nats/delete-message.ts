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

/** A message of an event, and its sequence number in the stream. */
export interface EventMessage {
  eventId: string
  sequence: number
}

export type DeleteMessage = (message: EventMessage) => Promise<void>

/**
 * Returns a function that deletes the message of an event from the stream and overwrites its bytes. A missing
 * message is no error. If the stream was lost, its sequence numbers have started again, and `sequence` may
 * now belong to another event. The message of another event is not deleted. Throws unavailable if NATS is
 * not connected.
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
