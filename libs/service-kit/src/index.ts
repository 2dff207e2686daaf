export { clientStream } from './client-stream'
export {
  ConfigError,
  count,
  duration,
  durations,
  host,
  list,
  logLevel,
  makeValidator,
  num,
  parseDuration,
  poolSize,
  port,
  readConfig,
  str,
  url,
} from './config'
export { converseWith } from './converse'
export {
  connectDatabase,
  type Database,
  type HeldConnection,
  type OpenTransaction,
  type Query,
  type Transaction,
} from './database'
export { databaseFailure, isRefusedValue, isUnfitTime, violatedConstraint } from './database-failure'
export { ensureStream } from './ensure-stream'
export { failureOf, serviceErrorOf } from './failure'
export { gather } from './gather'
export { connectGrpc } from './grpc-client'
export { createGrpcServer, type GrpcServer } from './grpc-server'
export { type HealthCheck, readinessOf, startHealthServer } from './health'
export { connectHttp2 } from './http2-sessions'
export { inTurn } from './in-turn'
export { createLifecycle, type Lifecycle, runService, type ServiceContext } from './lifecycle'
export { createLogger, type Logger } from './logger'
export { createMetrics, type Metrics } from './metrics'
export { type Migration, migrate } from './migrate'
export { connectNats } from './nats'
export { untilSuccess } from './retry'
export { type ErrorCode, type Faults, ServiceError } from './service-error'
export {
  bearerOf,
  createTokenCheck,
  type ServiceTokenConfig,
  serviceToken,
  serviceTokenSettings,
} from './service-token'
export { childTraceparent, newTraceparent, parseTraceparent } from './trace-context'
export { VERSION } from './version'
