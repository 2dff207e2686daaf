// audit/: who changed what, recorded with each change in the service's own database.

export { AUDIT_TABLE } from './audit/audit-table'
export { AUDIT_LIMIT, auditService, SELECT_AUDIT } from './audit/list-audit'
export { differences, recordAudit } from './audit/record-audit'

// database/: one pool of connections for each service, its transactions, what its errors mean, and the migrations.

export * from './database/database'
export { deleteOldKeys, oldestKeyAge } from './database/delete-old-keys'
export { isInvalidTime, isRefusedValue, isTimedOut, violatedConstraint } from './database/failure'
export { apart, type Migration, migrate, untilMigrated } from './database/migrate'
export { createPoolMetrics, type PoolMetrics } from './database/pool-metrics'
export { type Pruned, startPruning } from './database/start-pruning'

// grpc/: the servers and the clients of calls between services, and the batches of batched calls.

export { answerEach } from './grpc/answer-each'
export { type CallLimits, createBatcher, TooBusy } from './grpc/batcher'
export { type BatcherMeter, type BatcherMeters, createBatcherMeters } from './grpc/batcher-metrics'
export { connectBatches } from './grpc/batches'
export { actorOfCall } from './grpc/call-metadata'
export { connectGrpc } from './grpc/client'
export { createFairPerCall } from './grpc/fair-per-call'
export { createFairQueue } from './grpc/fair-queue'
export {
  type Answer,
  answerOnce,
  type Codec,
  type Fingerprints,
  isSameRequest,
  keyInUse,
  keyUsedForAnother,
  type WithIdempotencyKey,
} from './grpc/idempotency'
export { perCall, perKeyedCall } from './grpc/per-call'
export { createGrpcServer, type GrpcServer } from './grpc/server'
export { errorOfStatus, statusOf } from './grpc/status'
export { deadlineOf, unlessTimedOut } from './grpc/timed-out-items'

// http/: errors as problem documents, and how an HTTP server ends.

export { drainHttp } from './http/drain-http'
export { measureRequests } from './http/measure-requests'
export * from './http/problem'
export { traceRequests } from './http/trace-requests'

// nats/: the connection to NATS, and its streams.

export { connectNats } from './nats/connect-nats'
export { ensureStream } from './nats/ensure-stream'

// runtime/: what a process needs whatever it speaks.

export * from './runtime'
