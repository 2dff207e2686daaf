import * as settings from '@leadwire/settings'
import { encryptionKeys } from '../security/sealer'
import { serviceTokenSettings } from '../security/service-token'

/** Parses a program and its arguments. */
const passwordCommand = (env: NodeJS.ProcessEnv) =>
  settings.makeValidator<string[] | undefined>((text) => {
    if (settings.isSet(env, 'DATABASE_PASSWORD'))
      throw new TypeError('is set together with DATABASE_PASSWORD: remove one of them')
    if (text.trim() === '') throw new TypeError('must name a program')
    return text.trim().split(/\s+/)
  })({ default: undefined })

/** The settings of a service that has a database, uses the NATS stream and serves gRPC. */
export const grpcServiceSettings = (env: NodeJS.ProcessEnv) => ({
  LOG_LEVEL: settings.logLevel(),
  HOST: settings.host({ default: '127.0.0.1' }),
  GRPC_PORT: settings.port(),
  HEALTH_PORT: settings.healthPort(env, 'GRPC_PORT'),
  DATABASE_URL: settings.databaseUrl(),
  DATABASE_PASSWORD: settings.secret(),
  DATABASE_PASSWORD_COMMAND: passwordCommand(env),
  DATABASE_POOL_SIZE: settings.poolSize(),
  NATS_URL: settings.natsUrl(env),
  NATS_CREDENTIALS: settings.natsCredentials(),
  NATS_NKEY: settings.natsNkey(),
  NATS_CA_FILE: settings.natsCaFile(env),
  NATS_REPLICAS: settings.natsReplicas(),
  ENCRYPTION_KEYS: encryptionKeys(),
  ...serviceTokenSettings(env),
  ...settings.tlsSettings(env),
  ...settings.traceSettings(),
})
