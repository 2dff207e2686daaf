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
export {
  connectDatabase,
  type Database,
  type HeldConnection,
  type OpenTransaction,
  type Query,
  type Transaction,
} from './database/database'
export { databaseFailure, isRefusedValue, isUnfitTime, violatedConstraint } from './database/failure'
export { type Migration, migrate } from './database/migrate'
export { drainHttp } from './drain-http'
export { ensureStream } from './ensure-stream'
export { type CallLimits, gather } from './gather'
export { answerEach } from './grpc/answer-each'
export { connectBatches } from './grpc/batches'
export { connectGrpc } from './grpc/client'
export { deadlineOf, unlessLate } from './grpc/late-items'
export { perCall } from './grpc/per-call'
export { createGrpcServer, type GrpcServer } from './grpc/server'
export { errorOfStatus, statusOf } from './grpc/status'
export { type HealthCheck, readinessOf, startHealthServer } from './health'
export { createLifecycle, type Lifecycle, runService, type ServiceContext } from './lifecycle'
export { createLogger, type Logger } from './logger'
export { createMetrics, type Metrics } from './metrics'
export { connectNats } from './nats'
export { natsOptions, natsUrl } from './nats-url'
export {
  PROBLEM_TYPE,
  PROBLEMS,
  PROBLEMS_PATH,
  type Problem,
  type ProblemKind,
  problem,
  problemJson,
  problemOf,
  serviceErrorOfProblem,
} from './problem'
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
