import { type NatsConfig, natsOptions } from '@leadwire/settings'
import { JetStreamApiError, type JetStreamManager, type StreamConfig } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { ServiceContext } from '../process/lifecycle'
import type { Logger } from '../process/logger'

// The time without a connection after which a warning is logged.
const QUIET_MS = 5000

/** Connects to NATS. Waits for the first connection, and reconnects for ever. */
export const connectNats = async (
  options: ServiceContext<NatsConfig> & { name: string },
): Promise<NatsConnection> => {
  const { config, name, logger, lifecycle } = options
  // Registers the stop before connecting, so that the order of stops does not depend on when the connection
  // opens.
  let connection: NatsConnection | undefined
  lifecycle.onStop('nats', () => connection?.close())
  const warning = setTimeout(() => logger.warn({ nats: 'not connected' }, 'nats'), QUIET_MS).unref()
  connection = await connect({
    ...natsOptions(config),
    name,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    // Keeps the connection open after authentication errors. By default two such errors close the connection
    // for good. They occur while a password is being replaced, because clients and servers do not switch at
    // the same instant.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 100,
    reconnectJitter: 50,
    reconnectJitterTLS: 50,
    timeout: 2000,
    pingInterval: 5000,
    // Captures no stack traces. Capturing one for each message took a tenth of leads-service's time while
    // leads were created.
    noAsyncTraces: true,
  })
  clearTimeout(warning)
  void logStatuses(connection, logger)
  return connection
}

const logStatuses = async (connection: NatsConnection, logger: Logger) => {
  const logged = new Set<string>()
  for await (const status of connection.status()) {
    const { type } = status
    if (type !== 'disconnect' && type !== 'reconnect' && type !== 'error') continue
    // Logs each status once until the connection is restored, because every attempt to connect repeats it.
    if (logged.has(type)) continue
    logged.add(type)
    if (type === 'reconnect') logged.clear()
    logger.warn({ nats: type, ...(type === 'error' && { err: status.error }) }, 'nats')
  }
}

const EXISTS_WITH_OTHER_SETTINGS = 10058

// Creates the stream, or updates its settings. Settings that `config` does not name stay as the operator set
// them, such as the number of replicas. `storage` and `retention` also stay, because nats-server cannot
// change them for an existing stream.
export const ensureStream = async (
  manager: JetStreamManager,
  config: Pick<StreamConfig, 'name' | 'subjects' | 'storage' | 'retention'> & Partial<StreamConfig>,
): Promise<void> => {
  const { name, storage: _, retention: __, ...settings } = config
  try {
    await manager.streams.add(config)
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== EXISTS_WITH_OTHER_SETTINGS) throw error
    await manager.streams.update(name, settings)
  }
}
