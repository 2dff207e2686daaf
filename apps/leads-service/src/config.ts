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
    // Where stored images are served: it is part of every rendered lead.
    ASSETS_URL: publicUrl(),
    WEBHOOK_SERVICE_URL: grpcTarget(),
    FILES_SERVICE_URL: httpUrls(env),
    // How often leads, events and deliveries are reconciled; infinite: never.
    RECONCILE_INTERVAL: interval({ default: 60_000 }),
    // How long operators keep backups with their WAL: the receipt of an erasure names it.
    BACKUP_RETENTION_DAYS: count({ default: undefined, max: 36_500 }),
    // How long a response is answered again under its Idempotency-Key.
    IDEMPOTENCY_RETENTION: retention({ default: 24 * 3_600_000 }),
    // How long before or after a lead another one of the same person is a suspected duplicate.
    DUPLICATE_WINDOW: window({ default: 90 * DAY_MS }),
    // The gateway takes 50 quotes, of 250 items each.
    LEAD_MAX_QUOTES: count({ default: 20, max: 50 }),
    LEAD_MAX_ITEMS: count({ default: 250, max: 12_500 }),
    // Below the broker's limit for a message (max_payload, 8 MiB).
    EVENT_MAX_BYTES: count({ default: 1_000_000, min: 1000, max: 8_000_000 }),
  })
