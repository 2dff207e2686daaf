// By name: with `*`, a bundle loads a file with all it needs, such as PostgreSQL's client, wherever anything of this list is used.
export {
  AUDIT_LIMIT,
  AUDIT_TABLE,
  auditService,
  type Changes,
  differences,
  recordAudit,
  SELECT_AUDIT,
} from './audit/audit'
export {
  addPoolMetrics,
  connectDatabase,
  type Database,
  isoMicroseconds,
  type OpenTransaction,
  type Query,
  type Transaction,
  within,
} from './database/database'
export {
  databaseFailure,
  databaseUnavailable,
  isInvalidTime,
  isRefusedValue,
  isTimedOut,
  isUnusable,
  violatedConstraint,
} from './database/failure'
export { type Migration, migrate, untilMigrated } from './database/migrate'
export { oldKeys, type Pruned, startPruning } from './database/pruning'
export { type DatabaseServer, databaseServer } from './database/server'
export { columnsOf, statement, theRow } from './database/statement'
export { answerEach, connectBatches } from './grpc/batches'
export * from './grpc/calls'
export { type CallLimits, connectGrpc } from './grpc/client'
export { isUnimplemented } from './grpc/errors'
export { createGrpcServer, type GrpcServer } from './grpc/server'
export { errorOfStatus, statusOf } from './grpc/status'
export * from './http/problem'
export * from './http/serve-http'
export { connectNats, ensureStream } from './nats/connect-nats'
export { createBatcher } from './queues/batcher'
export { createFairQueue } from './queues/fair-queue'
export * from './queues/queue-meters'
export * from './runtime'
