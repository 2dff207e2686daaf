import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Lifecycle } from '../runtime/lifecycle'
import type { Logger } from '../runtime/logger'
import { natsOptions } from '../runtime/nats-url'

/** A NATS connection that outlives the server: it waits for the first connection and reconnects for ever. */
export const connectNats = async (options: {
  url: string
  /** The authorities that the servers' certificates are checked by, where the URL has tls://. */
  caFile?: string | undefined
  name: string
  logger: Logger
  lifecycle: Lifecycle
}): Promise<NatsConnection> => {
  // Registered before the first connection, so that the order of stops does not depend on when it comes.
  let connection: NatsConnection | undefined
  options.lifecycle.onStop('nats', () => connection?.close())
  connection = await connect({
    ...natsOptions(options.url, options.caFile),
    name: options.name,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    reconnectJitterTLS: 50,
    timeout: 2000,
    pingInterval: 5000,
    // A stack trace taken in advance for each message, in case it fails: a tenth of leads-service's time under creates.
    noAsyncTraces: true,
  })
  const statuses = connection.status()
  void (async () => {
    for await (const status of statuses) {
      if (status.type === 'disconnect' || status.type === 'reconnect')
        options.logger.warn({ nats: status.type }, 'nats')
    }
  })()
  return connection
}
