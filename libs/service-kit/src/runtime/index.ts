// What a process needs whatever it speaks: settings, start and end, logs, health, metrics, the error that crosses processes.
// It imports no other room. A service's first file and its settings import this one alone, so that settings are checked
// without loading gRPC and PostgreSQL.

export {
  ConfigError,
  count,
  duration,
  durations,
  host,
  list,
  logLevel,
  makeValidator,
  parseDuration,
  poolSize,
  port,
  readConfig,
  str,
  url,
} from './config'
export { type HealthCheck, readinessOf, startHealthServer } from './health'
export { createLifecycle, type Lifecycle, runService, type ServiceContext } from './lifecycle'
export { createLogger, type Logger } from './logger'
export { createMetrics, type Metrics } from './metrics'
export { natsOptions, natsUrl } from './nats-url'
export { untilSuccess } from './retry'
export { type ErrorCode, type Faults, ServiceError } from './service-error'
export {
  bearerOf,
  createTokenCheck,
  type ServiceTokenConfig,
  serviceTokenSettings,
} from './service-token'
export { childTraceparent, newTraceparent, parseTraceparent } from './trace-context'
export { VERSION } from './version'
