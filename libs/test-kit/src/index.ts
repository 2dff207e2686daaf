export {
  cacheDirectory,
  cachedBinary,
  createAuthority,
  eventually,
  freePort,
  isReady,
  s3Settings,
  serviceCommand,
  writeAuthorities,
  writeCertificate,
} from '@leadwire/embedded'
export { type ConnectProxy, startConnectProxy } from './connect-proxy'
export { watchCallers } from './connections'
export { createDatabase, createTemplateDatabase, cutConnections, type TestDatabase } from './database'
export { createDice, type Dice } from './dice'
export { mountDisk, type TestDisk } from './disk'
export { columnsWith } from './find-text'
export { type FullServer, startFullServer } from './full-server'
export { type Gate, gate } from './gate'
export type { Hardship } from './hardship'
export {
  type IdentityClaims,
  type IdentityProvider,
  prepareIdentityProvider,
  signInAt,
} from './identity-provider'
export { type ManualClock, manualClock } from './manual-clock'
export { migrate, settingsToMigrate } from './migrate'
export { startMinio, type TestMinio } from './minio'
export { startNats, type TestNats } from './nats'
export { type ObjectStoreDirectory, objectStoreDirectory } from './object-store-directory'
export { findPooler, startPooler, type TestPooler } from './pooler'
export { startPostgresServer, type TestPostgres } from './postgres'
export { type AlertingRule, findPrometheus, startPrometheus, type TestPrometheus } from './prometheus'
export { type Answer, type ReceivedRequest, type Receiver, startReceiver } from './receiver'
export { skewClock } from './skew-clock'
export { streamMessages } from './stream-messages'
export {
  joinSystem,
  type LogLine,
  type SharedSystem,
  type System,
  type SystemOptions,
  startSystem,
} from './system'
export { tableContents } from './table-contents'
