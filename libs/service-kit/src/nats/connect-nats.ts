import { connect, type NatsConnection } from '@nats-io/transport-node'
import { natsOptions } from '../config/nats-url'
import type { Lifecycle } from '../process/lifecycle'
import type { Logger } from '../process/logger'

/** So long a service waits for its first connection without a word. */
const QUIET_MS = 5000

/**
 * A NATS connection that outlives the server: it waits for the first connection and reconnects for ever, also while its password is
 * refused.
 */
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
  const { logger } = options
  const late = setTimeout(() => logger.warn({ nats: 'not connected' }, 'nats'), QUIET_MS).unref()
  connection = await connect({
    ...natsOptions(options.url, options.caFile),
    name: options.name,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    // Refused twice, it would else be closed for good: passwords of server and clients are never changed in the same instant.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    reconnectJitterTLS: 50,
    timeout: 2000,
    pingInterval: 5000,
    // A stack trace taken in advance for each message, in case it fails: a tenth of leads-service's time under creates.
    noAsyncTraces: true,
  })
  clearTimeout(late)
  const statuses = connection.status()
  void (async () => {
    const told = new Set<string>()
    for await (const status of statuses) {
      const { type } = status
      if (type !== 'disconnect' && type !== 'reconnect' && type !== 'error') continue
      // Until it is back, each attempt to connect brings the same again.
      if (told.has(type)) continue
      told.add(type)
      if (type === 'reconnect') told.clear()
      logger.warn({ nats: type, ...(type === 'error' && { err: status.error }) }, 'nats')
    }
  })()
  return connection
}
