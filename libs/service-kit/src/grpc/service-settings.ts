import { host, logLevel, poolSize, port, traceSettings } from '../config/config'
import { natsCaFile, natsReplicas, natsUrl } from '../config/nats-url'
import { databaseUrl, tlsSettings } from '../config/tls-settings'
import { encryptionKeys } from '../security/sealer'
import { serviceTokenSettings } from '../security/service-token'

/** The settings of a service that has a database, takes part in the stream and answers gRPC. */
export const grpcServiceSettings = (env: NodeJS.ProcessEnv) => ({
  LOG_LEVEL: logLevel(),
  HOST: host({ default: '127.0.0.1' }),
  GRPC_PORT: port(),
  HEALTH_PORT: port(),
  DATABASE_URL: databaseUrl(),
  DATABASE_POOL_SIZE: poolSize(),
  NATS_URL: natsUrl(env),
  NATS_CA_FILE: natsCaFile(env),
  NATS_REPLICAS: natsReplicas(),
  ENCRYPTION_KEYS: encryptionKeys(),
  ...serviceTokenSettings(env),
  ...tlsSettings(env),
  ...traceSettings(),
})
