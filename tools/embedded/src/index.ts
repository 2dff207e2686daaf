export { findMinio } from './minio/find-minio'
export {
  minioReady,
  minioStore,
  type ObjectStore,
  spawnMinio,
  startMinioServer,
} from './minio/minio'
export { findNatsServer } from './nats/find-nats-server'
export { type NatsServer, natsReady, natsUrl, spawnNats, startNatsServer } from './nats/nats-server'
export { cacheDirectory, dataDirectory, repositoryRoot } from './paths'
export {
  ensureDatabase,
  localPostgresUrl,
  type PostgresServer,
  postgresReady,
  postgresUrl,
  preparePostgres,
  spawnPostgres,
  startPostgres,
} from './postgres/postgres'
export { cachedBinary } from './process/cached-binary'
export { type Child, type Exit, startChild, whenReady } from './process/child'
export { eventually } from './process/eventually'
export { freePort } from './process/free-port'
export { fromApt } from './process/from-apt'
export { goInstall } from './process/go-install'
export { poll } from './process/poll'
export { isReady } from './process/when-serving'
export { findPrometheus } from './prometheus/find-prometheus'
export { findSeaweedfs } from './seaweedfs/find-seaweedfs'
export { type Account, createAccount, createSignInLink } from './stack/demo-account'
export {
  planServices,
  requireBuilt,
  type ServiceName,
  type ServicePlan,
  s3Settings,
  serviceCommand,
  startService,
} from './stack/services'
export { type Authority, createAuthority } from './tls/authority'
export { type ServicesTls, writeAuthorities, writeCertificate } from './tls/tls-files'
