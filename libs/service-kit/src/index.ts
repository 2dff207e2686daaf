// Exports names from these files instead of `*`. With `*`, a bundle that uses anything from this file would
// load the whole exported file and its imports, such as PostgreSQL's client.
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
  type OpenTransaction,
  type Query,
  type Transaction,
  within,
} from './database/database'
export {
  databaseFailure,
  databaseUnavailable,
  isRefusedValue,
  isTimedOut,
  isUnusable,
  violatedConstraint,
} from './database/failure'
export { type Answer, answerUnderKey, resolveKeys, saveAnswers } from './database/idempotency'
export { hasEnded } from './database/leases'
export { type Migration, migrate, untilMigrated } from './database/migrate'
export { checkDatabase, isoMicroseconds } from './database/parsers'
export { oldKeys, type Pruned, startPruning } from './database/pruning'
export { type DatabaseServer, databaseServer } from './database/server'
export {
  type Column,
  columnsByName,
  defineInsert,
  splitIntoColumns,
  statement,
  theRow,
} from './database/statement'
export { createClockWatch, WATCH_CLOCK_EVERY_MS } from './database/watch-clock'
export { answerEach, connectBatches, findDeadline, unlessTimedOut } from './grpc/batches'
export * from './grpc/calls'
export { type CallLimits, connectGrpc } from './grpc/client'
export { readRpcStatus, toRpcStatus } from './grpc/errors'
export { type BoundContext, createGrpcServer, type GrpcServer } from './grpc/server'
export * from './http/problem'
export * from './http/serve-http'
export { connectNats, ensureStream } from './nats/connect-nats'
export { createDeleteMessage, type DeleteMessage, type EventMessage } from './nats/delete-message'
export { limitRepeats, type RepeatLimit } from './process/limit-repeats'
export { createBatcher } from './queues/batcher'
export { createFairQueue, createTurns, type RunInTurn } from './queues/fair-queue'
export * from './queues/queue-meters'
export * from './runtime'
export { newEventId } from './text/new-event-id'
export { decodeWindows1252 } from './text/windows-1252'
