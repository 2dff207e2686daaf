import { LEADS_STREAM, LEADS_STREAM_CONFIG } from '@leadwire/contracts'
import { JetStreamApiError, type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

/** Publishes one message; resolves when the stream has stored it. */
export type Publish = (subject: string, payload: Uint8Array, messageId: string) => Promise<unknown>

/** Publishes to the lead stream, which is made when it is missing: it may have been lost with everything in it. */
export const publishTo = (connection: NatsConnection): Publish => {
  const client: JetStreamClient = jetstream(connection, { timeout: 3000 })
  let ensured: Promise<unknown> | undefined
  const ensureStream = async () => {
    const manager = await jetstreamManager(connection, { timeout: 3000 })
    await manager.streams.add(LEADS_STREAM_CONFIG).catch((error: unknown) => {
      if (!(error instanceof JetStreamApiError)) throw error
      return manager.streams.info(LEADS_STREAM.name)
    })
  }
  return async (subject, payload, messageId) => {
    ensured ??= ensureStream()
    try {
      await ensured
      return await client.publish(subject, payload, { msgID: messageId, timeout: 3000 })
    } catch (error) {
      ensured = undefined
      throw error
    }
  }
}
