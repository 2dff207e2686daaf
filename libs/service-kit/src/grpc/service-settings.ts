import {
  databaseUrl,
  healthPort,
  host,
  isSet,
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
const passwordCommand = (env: NodeJS.ProcessEnv) =>
  makeValidator<string[] | undefined>((text) => {
    if (isSet(env, 'DATABASE_PASSWORD'))
      throw new TypeError('and DATABASE_PASSWORD are there: set one of them')
    if (text.trim() === '') throw new TypeError('names no program')
    return text.trim().split(/\s+/)
  })({ default: undefined })

/** The settings of a service that has a database, takes part in the stream and answers gRPC. */
export const grpcServiceSettings = (env: NodeJS.ProcessEnv) => ({
  LOG_LEVEL: logLevel(),
  HOST: host({ default: '127.0.0.1' }),
  GRPC_PORT: port(),
  HEALTH_PORT: healthPort(env, 'GRPC_PORT'),
  DATABASE_URL: databaseUrl(),
  DATABASE_PASSWORD: secret(),
  DATABASE_PASSWORD_COMMAND: passwordCommand(env),
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
