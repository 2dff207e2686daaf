import {
  databaseUrl,
  host,
  logLevel,
  makeValidator,
  natsCaFile,
  natsCredentials,
  natsNkey,
  natsReplicas,
  natsUrl,
  poolSize,
  port,
  secret,
  tlsSettings,
  traceSettings,
} from '@leadwire/settings'
import { encryptionKeys } from '../security/sealer'
import { serviceTokenSettings } from '../security/service-token'

/** A program and its arguments. */
const command = makeValidator<string[] | undefined>((text) => text.trim().split(/\s+/))

/** The settings of a service that has a database, takes part in the stream and answers gRPC. */
export const grpcServiceSettings = (env: NodeJS.ProcessEnv) => ({
  LOG_LEVEL: logLevel(),
  HOST: host({ default: '127.0.0.1' }),
  GRPC_PORT: port(),
  HEALTH_PORT: port(),
  DATABASE_URL: databaseUrl(),
  DATABASE_PASSWORD: secret(),
  DATABASE_PASSWORD_COMMAND: command({ default: undefined }),
  DATABASE_POOL_SIZE: poolSize(),
  NATS_URL: natsUrl(env),
  NATS_CREDENTIALS: natsCredentials(),
  NATS_NKEY: natsNkey(),
  NATS_CA_FILE: natsCaFile(env),
  NATS_REPLICAS: natsReplicas(),
  ENCRYPTION_KEYS: encryptionKeys(),
  ...serviceTokenSettings(env),
  ...tlsSettings(env),
  ...traceSettings(),
})
