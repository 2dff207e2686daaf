import { natsOptions } from '@leadwire/service-kit/runtime'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { TestNats } from './nats'

/** Returns the bytes of every message in every stream of a nats-server. */
export async function streamMessages({ url, caFile }: TestNats): Promise<Uint8Array[]> {
  const connection = await connect(natsOptions({ NATS_URL: url, NATS_CA_FILE: caFile }))
  try {
    const { streams } = await jetstreamManager(connection)
    const messages: Uint8Array[] = []
    for await (const { config, state } of streams.list()) {
      for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
        // Null if the message was deleted.
        const message = await streams.getMessage(config.name, { seq }).catch(() => null)
        if (message) messages.push(message.data)
      }
    }
    return messages
  } finally {
    await connection.close()
  }
}
