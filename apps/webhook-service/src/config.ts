import {
  count,
  duration,
  durations,
  host,
  list,
  logLevel,
  natsUrl,
  poolSize,
  port,
  readConfig,
  type ServiceTokenConfig,
  serviceTokenSettings,
  str,
} from '@leadwire/service-kit'

export interface Config extends ServiceTokenConfig {
  LOG_LEVEL: string
  HOST: string
  HEALTH_PORT: number
  GRPC_PORT: number
  DATABASE_URL: string
  DATABASE_POOL_SIZE: number
  NATS_URL: string
  WEBHOOK_RETRY_SCHEDULE: number[]
  WEBHOOK_TIMEOUT: number
  WEBHOOK_ALLOW_HOSTS: string[]
  WEBHOOK_CONCURRENCY: number
  WEBHOOK_ENDPOINT_CONCURRENCY: number
  WEBHOOK_ENDPOINTS_PER_ACCOUNT: number
}

/** The settings of this service. Throws a ConfigError that lists every fault. */
export const readWebhookConfig = (env: NodeJS.ProcessEnv): Config =>
  readConfig<Config>(env, {
    LOG_LEVEL: logLevel(),
    HOST: host({ default: '127.0.0.1' }),
    HEALTH_PORT: port(),
    GRPC_PORT: port(),
    DATABASE_URL: str(),
    DATABASE_POOL_SIZE: poolSize(),
    NATS_URL: natsUrl(env),
    WEBHOOK_RETRY_SCHEDULE: durations({ default: [60_000, 300_000, 900_000, 1_800_000, 3_600_000] }),
    WEBHOOK_TIMEOUT: duration({ default: 10_000 }),
    WEBHOOK_ALLOW_HOSTS: list({ default: [] }),
    WEBHOOK_CONCURRENCY: count({ default: 512 }),
    WEBHOOK_ENDPOINT_CONCURRENCY: count({ default: 16 }),
    WEBHOOK_ENDPOINTS_PER_ACCOUNT: count({ default: 100 }),
    ...serviceTokenSettings(env),
  })
