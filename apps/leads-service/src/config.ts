import {
  count,
  grpcServiceSettings,
  grpcTarget,
  httpUrls,
  makeValidator,
  parseDuration,
  publicUrl,
  readConfig,
  retention,
  timeZone,
} from '@leadwire/service-kit/runtime'

const interval = makeValidator<number>((text) =>
  text === 'off' ? Number.POSITIVE_INFINITY : parseDuration(text),
)

const DAY_MS = 24 * 3_600_000

const window = makeValidator<number>(parseDuration)

export type Config = ReturnType<typeof readLeadsConfig>

export const readLeadsConfig = (env: NodeJS.ProcessEnv) =>
  readConfig(env, {
    ...grpcServiceSettings(env),
    // The base URL of stored images. It is part of the stored JSON of every lead with images.
    ASSETS_URL: publicUrl(),
    WEBHOOK_SERVICE_URL: grpcTarget(),
    FILES_SERVICE_URL: httpUrls(env),
    // The interval between reconciliations of leads, events and deliveries, in milliseconds. `off` becomes
    // Infinity, which disables reconciliation.
    RECONCILE_INTERVAL: interval({ default: 60_000 }),
    // For how many days operators keep backups and archived WAL. With this setting, the receipt of an erasure
    // shows until when backups may contain the erased data.
    BACKUP_RETENTION_DAYS: count({ default: undefined, max: 36_500 }),
    // How long a repeated Idempotency-Key gets the saved response.
    IDEMPOTENCY_RETENTION: retention({ default: 24 * 3_600_000 }),
    // Leads of one person are suspected duplicates if they were created within this time of each other.
    DUPLICATE_WINDOW: window({ default: 90 * DAY_MS }),
    // The time zone in which the days of figures begin and end.
    TIME_ZONE: timeZone({ default: 'Europe/London' }),
    // The values of `max` are the limits of the gateway: 50 quotes, and 250 items in each quote, so 12,500
    // items in total.
    LEAD_MAX_QUOTES: count({ default: 20, max: 50 }),
    LEAD_MAX_ITEMS: count({ default: 250, max: 12_500 }),
    // The limit counts only tokens that are neither expired nor revoked.
    TOKENS_PER_ACCOUNT: count({ default: 1000, max: 1_000_000 }),
    USERS_PER_ACCOUNT: count({ default: 1000, max: 1_000_000 }),
    IMAGES_PER_ACCOUNT: count({ default: 10_000, max: 1_000_000 }),
    // The maximum size of an event, in bytes. Must be below the maximum size of a message in NATS
    // (max_payload, 8 MiB).
    EVENT_MAX_BYTES: count({ default: 1_000_000, min: 1000, max: 8_000_000 }),
  })
