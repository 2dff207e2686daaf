import { connect, type NatsConnection } from '@nats-io/transport-node'
import { natsOptions } from '../config/nats-url'
import type { Lifecycle } from '../process/lifecycle'
import type { Logger } from '../process/logger'

/** How long a service waits for its first connection before it logs that. */
const QUIET_MS = 5000

/**
 * A NATS connection that outlives the server: it waits for the first connection, and reconnects for ever.
 */
export const connectNats = async (options: {
  url: string
  /** The certificate authorities, for a URL with tls://. */
  caFile?: string | undefined
  name: string
  logger: Logger
  lifecycle: Lifecycle
}): Promise<NatsConnection> => {
  // Registered now, so that the order of stops does not depend on the first connection.
  let connection: NatsConnection | undefined
  options.lifecycle.onStop('nats', () => connection?.close())
  const { logger } = options
  const warning = setTimeout(() => logger.warn({ nats: 'not connected' }, 'nats'), QUIET_MS).unref()
  connection = await connect({
    ...natsOptions(options.url, options.caFile),
    name: options.name,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    // Otherwise two refusals close it for good, and passwords are never changed everywhere in the same instant.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    reconnectJitterTLS: 50,
    timeout: 2000,
    pingInterval: 5000,
    // Stack traces are captured for each message: a tenth of leads-service's time under creates.
    noAsyncTraces: true,
  })
  clearTimeout(warning)
  const statuses = connection.status()
  void (async () => {
    const logged = new Set<string>()
    for await (const status of statuses) {
      const { type } = status
      if (type !== 'disconnect' && type !== 'reconnect' && type !== 'error') continue
      // Each attempt to connect repeats them.
      if (logged.has(type)) continue
      logged.add(type)
      if (type === 'reconnect') logged.clear()
      logger.warn({ nats: type, ...(type === 'error' && { err: status.error }) }, 'nats')
    }
  })()
  return connection
}
