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
  serviceTokenSettings,
  str,
  timeZone,
} from '@leadwire/service-kit/runtime'
import { mailSender, mailTarget } from './notifications/mail-settings'

export type Config = ReturnType<typeof readWebhookConfig>

/** The settings of this service. Throws a ConfigError that lists every fault. */
export const readWebhookConfig = (env: NodeJS.ProcessEnv) =>
  readConfig(env, {
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
    SMTP_URL: mailTarget(),
    SMTP_FROM: mailSender(),
    SMTP_TIMEOUT: duration({ default: 60_000 }),
    /** The time zone of dates in notifications. */
    TIME_ZONE: timeZone({ default: 'Europe/London' }),
    ...serviceTokenSettings(env),
  })
