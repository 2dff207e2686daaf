import { setMaxListeners } from 'node:events'
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net'
import { ConfigError } from '@leadwire/settings'
import { createLogger, type Logger, whenWritten } from './logger'

const DRAIN_LIMIT_MS = 10_000

/**
 * How long one IP address may take to accept a connection, in milliseconds. It is long enough for a lost SYN,
 * which the kernel resends after 1 s.
 */
export const ADDRESS_LIMIT_MS = 2000

/**
 * Raises Node's time limit for connecting to one IP address, which is 250 ms by default. With Node's limit, a
 * connection to a slow address fails if no other address works. For example, the only other address may be an
 * IPv6 address, while this machine has no IPv6.
 */
export const limitAddresses = (): void => setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_LIMIT_MS)

/** Makes the lifecycle of a process. The part that started last stops first. */
export const createLifecycle = (logger: Logger) => {
  const stops: { name: string; stop: () => unknown }[] = []
  const controller = new AbortController()
  const signal: AbortSignal = controller.signal
  // The number of listeners has no limit, because each open stream adds a listener.
  setMaxListeners(0, signal)
  let stopping: Promise<void> | undefined
  const stopAll = async () => {
    controller.abort()
    for (const { name, stop } of stops.reverse()) {
      try {
        await stop()
      } catch (error) {
        logger.error({ err: error, step: name }, 'could not stop')
      }
    }
  }
  return {
    /** Aborts when a drain starts. */
    signal,
    onStop: (name: string, stop: () => unknown): void => void stops.push({ name, stop }),
    /** Runs all registered stops in reverse order. Logs a stop that fails, and continues with the others. */
    stop: (): Promise<void> => {
      stopping ??= stopAll()
      return stopping
    },
  }
}

export type Lifecycle = ReturnType<typeof createLifecycle>

export interface ServiceContext<Config> {
  config: Config
  logger: Logger
  lifecycle: Lifecycle
}

/**
 * Runs a service in the foreground. Drains it on SIGTERM or SIGINT, for at most 10 s. Exits with 1 after any
 * error, or if the drain takes too long, so that the supervisor starts a clean process.
 *
 * With `--check-settings`, only reads the configuration. `start` should import the service's modules itself,
 * so that this check need not load them. With `--migrate`, runs `migrate` instead of `start`.
 */
export const runService = async <
  Config extends {
    LOG_LEVEL: string
    OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined
    OTEL_EXPORTER_OTLP_HEADERS?: string | undefined
  },
>(service: {
  name: string
  readConfig: (env: NodeJS.ProcessEnv) => Config
  start: (context: ServiceContext<Config>) => Promise<void>
  migrate?: (context: ServiceContext<Config>) => Promise<void>
}): Promise<void> => {
  limitAddresses()
  const config = configOrExit(service.name, service.readConfig)
  if (process.argv.includes('--check-settings')) process.exit(0)
  const logger = createLogger({ service: service.name, level: config.LOG_LEVEL })
  const migrates = process.argv.includes('--migrate')
  const lifecycle = createLifecycle(logger)
  const exit = async (code: number) => {
    setTimeout(() => {
      logger.error('the drain took too long')
      process.exit(1)
    }, DRAIN_LIMIT_MS).unref()
    await lifecycle.stop()
    // At exit pino writes the remaining lines synchronously, and hangs if the reader of the log is gone
    // (sonic-boom 4.2).
    await whenWritten(logger)
    process.exit(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, 'draining')
      void exit(migrates ? 1 : 0)
    })
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error) => {
      logger.fatal({ err: error }, event)
      void exit(1)
    })
  }
  try {
    if (migrates) {
      if (!service.migrate) throw new Error('this service has no database to migrate')
      await service.migrate({ config, logger, lifecycle })
      logger.info('the database has the newest schema')
      process.exit(0)
    }
    if (config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined)
      (await import('./start-tracing.js')).startTracing(service.name, config, logger, lifecycle.onStop)
    await service.start({ config, logger, lifecycle })
    if (!lifecycle.signal.aborted) logger.info('ready')
  } catch (error) {
    if (lifecycle.signal.aborted) return
    logger.fatal({ err: error }, 'could not start')
    await exit(1)
  }
}

const configOrExit = <Config>(name: string, read: (env: NodeJS.ProcessEnv) => Config): Config => {
  try {
    return read(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    createLogger({ service: name, level: 'info' }).fatal({ errors: error.errors }, 'invalid configuration')
    process.exit(1)
  }
}
