import { setMaxListeners } from 'node:events'
import { ConfigError, type TraceSettings } from '../config/config'
import { limitAddresses } from './address-limit'
import { createLogger, type Logger } from './logger'

const DRAIN_LIMIT_MS = 10_000

/** Ordered shutdown: what was started last is stopped first. */
export interface Lifecycle {
  /** Registers how to stop what was started. */
  onStop(name: string, stop: () => unknown): void
  /** Whether a drain has begun. */
  readonly draining: boolean
  /** Aborted when a drain starts. */
  readonly signal: AbortSignal
  /** Runs every registered stop in reverse order. A failure is logged, and the others run. */
  stop(): Promise<void>
}

export interface ServiceContext<Config> {
  config: Config
  logger: Logger
  lifecycle: Lifecycle
}

export const createLifecycle = (logger: Logger): Lifecycle => {
  const stops: { name: string; stop: () => unknown }[] = []
  const controller = new AbortController()
  // Each open stream listens to it.
  setMaxListeners(0, controller.signal)
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
    onStop: (name, stop) => void stops.push({ name, stop }),
    get draining() {
      return controller.signal.aborted
    },
    signal: controller.signal,
    stop: () => {
      stopping ??= stopAll()
      return stopping
    },
  }
}

/**
 * Runs a service in the foreground: reads its configuration, starts it, and drains it on SIGTERM or SIGINT within 10 s.
 *
 * Exits with 1 when the configuration is invalid, when the start fails, when the drain takes too long, and after an unforeseen
 * error: the supervisor starts a clean process. `--check-settings` only reads the configuration, so `start` should load the
 * service's modules. `--migrate` runs `migrate` in place of `start`, and exits with 0 when the database has the newest schema.
 */
export const runService = async <Config extends { LOG_LEVEL: string } & TraceSettings>(service: {
  name: string
  readConfig: (env: NodeJS.ProcessEnv) => Config
  start: (context: ServiceContext<Config>) => Promise<void>
  /** Of a service with a database. */
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
    if (migrates) return await migrateAndExit(service, { config, logger, lifecycle })
    if (config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined)
      (await import('./start-tracing.js')).startTracing({
        service: service.name,
        logger,
        onStop: lifecycle.onStop,
      })
    await service.start({ config, logger, lifecycle })
    if (!lifecycle.draining) logger.info('ready')
  } catch (error) {
    if (lifecycle.draining) return
    logger.fatal({ err: error }, 'could not start')
    await exit(1)
  }
}

const migrateAndExit = async <Config>(
  { migrate }: { migrate?: (context: ServiceContext<Config>) => Promise<void> },
  context: ServiceContext<Config>,
): Promise<void> => {
  if (!migrate) throw new Error('this service has no database to migrate')
  await migrate(context)
  context.logger.info('the database has the newest schema')
  process.exit(0)
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
