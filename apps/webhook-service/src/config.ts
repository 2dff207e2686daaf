import {
  caFile,
  count,
  databaseUrl,
  duration,
  encryptionKeys,
  host,
  logLevel,
  makeValidator,
  natsCaFile,
  natsReplicas,
  natsUrl,
  parseDuration,
  parseList,
  poolSize,
  port,
  readConfig,
  retention,
  serviceTokenSettings,
  settingBeside,
  timeZone,
  tlsSettings,
  traceSettings,
} from '@leadwire/service-kit/runtime'
import { mailSender, mailTarget } from './notifications/mail-settings'

const DAY_MS = 24 * 3_600_000

// A bare number is seconds.
const disableAfter = makeValidator<number>((text) =>
  text === 'off' ? Number.POSITIVE_INFINITY : parseDuration(/^\d+$/.test(text) ? `${text}s` : text),
)

const durations = makeValidator<number[]>((text) => parseList(text).map(parseDuration))

const list = makeValidator<string[]>(parseList)

export type Config = ReturnType<typeof readWebhookConfig>

/** The settings of this service. Throws a ConfigError that lists every violation. */
export const readWebhookConfig = (env: NodeJS.ProcessEnv) =>
  readConfig(env, {
    LOG_LEVEL: logLevel(),
    HOST: host({ default: '127.0.0.1' }),
    HEALTH_PORT: port(),
    GRPC_PORT: port(),
    DATABASE_URL: databaseUrl(),
    DATABASE_POOL_SIZE: poolSize(),
    NATS_URL: natsUrl(env),
    NATS_CA_FILE: natsCaFile(env),
    NATS_REPLICAS: natsReplicas(),
    ENCRYPTION_KEYS: encryptionKeys(),
    WEBHOOK_RETRY_SCHEDULE: durations({ default: [60_000, 300_000, 900_000, 1_800_000, 3_600_000] }),
    WEBHOOK_TIMEOUT: duration({ default: 10_000 }),
    WEBHOOK_ALLOW_HOSTS: list({ default: [] }),
    WEBHOOK_CONCURRENCY: count({ default: 512 }),
    WEBHOOK_ENDPOINT_CONCURRENCY: count({ default: 16 }),
    /** How long an endpoint may only fail before it is disabled; infinite: it never is. */
    WEBHOOK_DISABLE_AFTER: disableAfter({ default: Number.POSITIVE_INFINITY }),
    WEBHOOK_ENDPOINTS_PER_ACCOUNT: count({ default: 100 }),
    /** How long delivered and cancelled deliveries and notifications are kept, with attempts and events. */
    DELIVERY_RETENTION: retention({ default: 30 * DAY_MS }),
    /** The same for exhausted ones, and for samples. */
    EXHAUSTED_RETENTION: retention({ default: 90 * DAY_MS }),
    /** How long a response is repeated for its Idempotency-Key. */
    IDEMPOTENCY_RETENTION: retention({ default: DAY_MS }),
    SMTP_URL: mailTarget(),
    SMTP_CA_FILE: caFile({
      isUsed: /^smtps?:/.test(settingBeside(env, 'SMTP_URL')),
      unless: 'unless SMTP_URL has smtp:// or smtps://',
    }),
    SMTP_FROM: mailSender(),
    SMTP_TIMEOUT: duration({ default: 60_000 }),
    /** The time zone of dates in notifications. */
    TIME_ZONE: timeZone({ default: 'Europe/London' }),
    ...serviceTokenSettings(env),
    ...tlsSettings(env),
    ...traceSettings(),
  })
