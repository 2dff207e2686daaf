// audit/: who changed what, recorded with each change in the service's own database.

export { AUDIT_TABLE } from './audit/audit-table'
export { AUDIT_LIMIT, auditService, SELECT_AUDIT } from './audit/list-audit'
export { differences, recordAudit } from './audit/record-audit'

// database/: one pool of connections for each service, its transactions, what its errors mean, and the migrations.

export * from './database/database'
export { isCutOff, isRefusedValue, isUnfitTime, violatedConstraint } from './database/failure'
export { forgetOldKeys, oldestKeyAge } from './database/forget-old-keys'
export { apart, type Migration, migrate, untilMigrated } from './database/migrate'
export { createPoolMetrics, type PoolMetrics } from './database/pool-metrics'
export { type Pruned, startPruning } from './database/start-pruning'

// grpc/: the servers and the clients of calls between services, and the batches in which gathered calls travel.

export { createAccountTurns } from './grpc/account-turns'
export { answerEach } from './grpc/answer-each'
export { connectBatches } from './grpc/batches'
export { actorOfCall } from './grpc/call-metadata'
export { connectGrpc } from './grpc/client'
export { type CallLimits, gather, TooBusy } from './grpc/gather'
export { createGatherMeters, type GatherMeter, type GatherMeters } from './grpc/gather-metrics'
export {
  type Answer,
  answerOnce,
  type Codec,
  type Fingerprints,
  isSameRequest,
  keyInUse,
  keyUsedForAnother,
  type UnderKey,
} from './grpc/idempotency'
export { createPerCallInTurn } from './grpc/in-turn'
export { deadlineOf, unlessLate } from './grpc/late-items'
export { perCall, perKeyedCall } from './grpc/per-call'
export { createGrpcServer, type GrpcServer } from './grpc/server'
export { errorOfStatus, statusOf } from './grpc/status'

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
