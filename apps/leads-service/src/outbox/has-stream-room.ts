import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

const TIMEOUT_MS = 3000
const NOT_FOUND = 404

const unlessMissing = (error: unknown): undefined => {
  if (error instanceof JetStreamApiError && error.apiError().code === NOT_FOUND) return undefined
  throw error
}

/**
 * Returns how many messages a consumer still has to deliver. Returns 0 for a missing consumer, which
 * webhook-service will create.
 */
const countUndelivered = async ({ consumers }: JetStreamManager, name: string): Promise<number> => {
  const consumer = await consumers.info(LEADS_STREAM.name, name).catch(unlessMissing)
  return consumer?.num_pending ?? 0
}

/**
 * Makes a function that returns whether undelivered messages fill at most half of the stream. A full stream
 * drops its oldest messages, so publishing more would push out messages that webhook-service has not received
 * yet. Rejects while NATS is unavailable.
 */
export const createHasStreamRoom = (connection: NatsConnection) => async (): Promise<boolean> => {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: TIMEOUT_MS })
  const stream = await manager.streams.info(LEADS_STREAM.name).catch(unlessMissing)
  if (!stream || stream.state.messages === 0) return true
  const counts = await Promise.all(
    [WEBHOOK_CONSUMER, NOTIFICATION_CONSUMER].map((name) => countUndelivered(manager, name)),
  )
  const undelivered = counts.reduce((sum, count) => sum + count, 0)
  const averageBytes = stream.state.bytes / stream.state.messages
  const maxBytes = stream.config.max_bytes
  return maxBytes <= 0 || averageBytes * undelivered <= maxBytes / 2
}
