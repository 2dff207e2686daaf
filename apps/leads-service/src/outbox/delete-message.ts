import { eventIdOf, LEADS_STREAM } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

const TIMEOUT_MS = 3000
const NOT_FOUND = 404

const unlessMissing = (error: unknown): null => {
  if (error instanceof JetStreamApiError && error.apiError().code === NOT_FOUND) return null
  throw error
}

/**
 * Makes the function that deletes an event's message from the stream; its bytes are written over. A stream that was lost counts
 * anew, so the number may be another event's: that one is left alone. What is not there is no failure.
 */
export const createDeleteMessage =
  (connection: () => NatsConnection | undefined) =>
  async ({ eventId, sequence }: { eventId: string; sequence: number }): Promise<void> => {
    const nats = connection()
    if (!nats) throw new ServiceError('unavailable', 'NATS is unavailable.')
    const { streams } = await jetstreamManager(nats, { checkAPI: false, timeout: TIMEOUT_MS })
    const message = await streams.getMessage(LEADS_STREAM.name, { seq: sequence }).catch(unlessMissing)
    if (!message || eventIdOf(message.header.get('Nats-Msg-Id')) !== eventId) return
    await streams.deleteMessage(LEADS_STREAM.name, sequence).catch(unlessMissing)
  }
