import * as settings from '@leadwire/service-kit/runtime'
import type { RateLimit } from './admission/rate-limit'

export type GatewayConfig = ReturnType<typeof readGatewayConfig>

const ranges = settings.entriesOf(settings.isRange, 'address or CIDR range')

const MAX_WINDOW_MS = 86_400_000

/** Requests in a time of whole seconds, such as `600/1m`. */
const rateLimit = settings.makeValidator<RateLimit>((text) => {
  const [, requests, window] = /^([1-9]\d{0,8})\/(\w+)$/.exec(text) ?? []
  const windowMs = window === undefined ? 0 : settings.parseDuration(window)
  if (windowMs < 1000 || windowMs % 1000 > 0 || windowMs > MAX_WINDOW_MS) {
    throw new TypeError(`"${text}" is no limit such as 600/1m, in a time of whole seconds up to 1d`)
  }
  return { requests: Number(requests), windowMs }
})

const isOrigin = (text: string): boolean =>
  text === '*' || (/^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text)

const origins = settings.entriesOf(isOrigin, 'origin such as https://app.example')

const DEFAULT_PORT = 3000

/** Throws a ConfigError with every error. */
export const readGatewayConfig = (env: NodeJS.ProcessEnv) =>
  settings.readConfig(env, {
    LOG_LEVEL: settings.logLevel(),
    HOST: settings.host({ default: '127.0.0.1' }),
    PORT: settings.port({ default: DEFAULT_PORT }),
    HEALTH_PORT: settings.healthPort(env, 'PORT', DEFAULT_PORT),
    LEADS_SERVICE_URL: settings.grpcTarget(),
    FILES_SERVICE_URL: settings.httpUrls(env),
    WEBHOOK_SERVICE_URL: settings.grpcTarget(),
    /** The address of the API, without a slash at its end. By default each request's own. */
    PUBLIC_URL: settings.publicUrl({ default: undefined }) as settings.Spec<string | undefined>,
    /** Addresses and CIDR ranges whose X-Forwarded-* headers are trusted. */
    TRUSTED_PROXIES: ranges({ default: [] }),
    /** Addresses and CIDR ranges that webhooks come from: shown to whom runs a receiver, and used for nothing. */
    WEBHOOK_SOURCE_ADDRESSES: ranges({ default: [] }),
    /** The time zone of the dates of appointments and callbacks. */
    TIME_ZONE: settings.timeZone({ default: 'Europe/London' }),
    /** Uploads of an account at once, in this copy. */
    ACCOUNT_MAX_UPLOADS: settings.count({ default: 32, max: 999_999_999 }),
    /** The most bytes of an import. */
    IMPORT_MAX_BYTES: settings.count({ default: 512 * 1024 * 1024, max: 5_000_000_000 }),
    /** Requests of each token to this copy. By default there is no limit. */
    RATE_LIMIT: rateLimit({ default: undefined }),
    /** Requests of each address with publishable tokens to this copy. */
    CAPTURE_RATE: rateLimit({ default: { requests: 10, windowMs: 60_000 } }),
    /** Leads of each publishable token in a day (UTC). */
    CAPTURE_DAILY: settings.count({ default: 1000, max: 999_999_999 }),
    /** Origins whose pages may use the API; `*` stands for all. */
    CORS_ORIGINS: origins({ default: [] }),
    COMPRESSION: settings.bool({ default: false }),
    ...settings.serviceTokenSettings(env),
    ...settings.tlsSettings(env),
    ...settings.traceSettings(),
  })
