// audit/: who changed what, in each service's own database.

export { AUDIT_TABLE } from './audit/audit-table'
export { AUDIT_LIMIT, auditService, SELECT_AUDIT } from './audit/list-audit'
export { differences, recordAudit } from './audit/record-audit'

// database/: pools, transactions, errors and migrations.

export * from './database/database'
export { deleteOldKeys, oldestKeyAge } from './database/delete-old-keys'
export { isInvalidTime, isRefusedValue, isTimedOut, violatedConstraint } from './database/failure'
export { inSeparateTransactions, type Migration, migrate, untilMigrated } from './database/migrate'
export { createPoolMetrics, type PoolMetrics } from './database/pool-metrics'
export { type Pruned, startPruning } from './database/start-pruning'

// admission/ and batching/: fair queues, and calls for one item sent as calls for many.

export { createFairCalls } from './admission/fair-calls'
export { createFairQueue } from './admission/fair-queue'
export { type CallLimits, createBatcher } from './batching/batcher'
export { type BatcherMeter, type BatcherMeters, createBatcherMeters } from './batching/batcher-metrics'
export { deadlineOf, unlessTimedOut } from './batching/timed-out-items'

// grpc/: servers, clients and streams of batches for calls between services.

export { answerEach } from './grpc/answer-each'
export { connectBatches } from './grpc/batches'
export { actorOfCall } from './grpc/call-metadata'
export { connectGrpc } from './grpc/client'
export {
  type Answer,
  answerOnce,
  type Codec,
  keyInUse,
  keyUsedForAnother,
  type WithIdempotencyKey,
} from './grpc/idempotency'
export { perCall, perKeyedCall } from './grpc/per-call'
export { createGrpcServer, type GrpcServer } from './grpc/server'
export { errorOfStatus, statusOf } from './grpc/status'

// http/: problem documents, metrics and traces of requests, and draining.

export { drainHttp } from './http/drain-http'
export { measureRequests } from './http/measure-requests'
export * from './http/problem'
export { traceRequests } from './http/trace-requests'

// nats/: connections and streams.

export { connectNats } from './nats/connect-nats'
export { ensureStream } from './nats/ensure-stream'

// config/, errors/, process/, security/, tracing/: what a process needs whatever it speaks.

export * from './runtime'
