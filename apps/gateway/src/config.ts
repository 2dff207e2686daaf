import * as settings from '@leadwire/service-kit/runtime'
import type { RateLimit } from './admission/rate-limits'
import { isLoopback } from './http/is-loopback'
import { oidcSettings } from './sign-in/oidc-settings'

export type GatewayConfig = ReturnType<typeof readGatewayConfig>

const ranges = settings.makeListValidator(settings.isRange, 'an address or CIDR range')

const MAX_WINDOW_MS = 86_400_000

/** Parses a limit such as `600/1m`: a number of requests, a slash, and a period of whole seconds. */
const rateLimit = settings.makeValidator<RateLimit>((text) => {
  const [, requests, window] = /^([1-9]\d{0,8})\/(\w+)$/.exec(text) ?? []
  const windowMs = window === undefined ? 0 : settings.parseDuration(window)
  if (windowMs < 1000 || windowMs % 1000 > 0 || windowMs > MAX_WINDOW_MS) {
    throw new TypeError(
      `"${text}" is not a limit such as 600/1m: a number, a slash, and a period of whole seconds, at most 1d`,
    )
  }
  return { requests: Number(requests), windowMs }
})

const isOrigin = (text: string): boolean =>
  text === '*' || (/^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text)

const origins = settings.makeListValidator(isOrigin, 'an origin such as https://app.example')

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 3000

/**
 * Makes the validator of PUBLIC_URL, the base URL of the API without a trailing slash. PUBLIC_URL is required
 * unless HOST is a loopback address, because events and links contain the URL.
 */
const publicUrl = (env: NodeJS.ProcessEnv) => {
  const host = settings.readRelatedSetting(env, 'HOST') || DEFAULT_HOST
  const needed = `set the address that clients use, such as https://leads.example.com, because HOST is ${host}`
  const spec = isLoopback(host) ? { default: undefined } : { desc: needed }
  return settings.publicUrl(spec as { desc: string }) as settings.Spec<string | undefined>
}

/** Reads the settings. Throws a ConfigError that lists all errors. */
export const readGatewayConfig = (env: NodeJS.ProcessEnv) => {
  const oidc = oidcSettings(env)
  return settings.readConfig(env, {
    LOG_LEVEL: settings.logLevel(),
    HOST: settings.host({ default: DEFAULT_HOST }),
    PORT: settings.port({ default: DEFAULT_PORT }),
    HEALTH_PORT: settings.healthPort(env, 'PORT', DEFAULT_PORT),
    LEADS_SERVICE_URL: settings.grpcTarget(),
    FILES_SERVICE_URL: settings.httpUrls(env),
    WEBHOOK_SERVICE_URL: settings.grpcTarget(),
    PUBLIC_URL: publicUrl(env),
    /** IP addresses and CIDR ranges of proxies whose X-Forwarded-* headers are trusted. */
    TRUSTED_PROXIES: ranges({ default: [] }),
    /**
     * IP addresses and CIDR ranges from which webhooks are sent. Only for display: the API returns them, and
     * the setting has no other effect.
     */
    WEBHOOK_SOURCE_ADDRESSES: ranges({ default: [] }),
    /** The time zone of dates without an offset, such as the dates of appointments and callbacks. */
    TIME_ZONE: settings.timeZone({ default: 'Europe/London' }),
    /** How many uploads of one account this copy receives at once. */
    ACCOUNT_MAX_UPLOADS: settings.count({ default: 32, max: 999_999_999 }),
    /** The maximum size of an import, in bytes. */
    IMPORT_MAX_BYTES: settings.count({ default: 512 * 1024 * 1024, max: 5_000_000_000 }),
    /** How many requests a token may send to this copy within a time window. The default is no limit. */
    RATE_LIMIT: rateLimit({ default: undefined }),
    /** How many requests with wrong tokens a public IP address may send to this copy within a time window. */
    WRONG_TOKEN_RATE: rateLimit({ default: { requests: 60, windowMs: 60_000 } }),
    /** How many requests with publishable tokens an IP address may send to this copy within a time window. */
    CAPTURE_RATE: rateLimit({ default: { requests: 10, windowMs: 60_000 } }),
    /** How many leads a publishable token may create in a day (UTC). */
    CAPTURE_DAILY: settings.count({ default: 1000, max: 999_999_999 }),
    /** How many bytes of files all visitors together may send with a publishable token in a day (UTC). */
    CAPTURE_DAILY_BYTES: settings.count({ default: 2 * 1024 ** 3, max: 1_000_000_000_000 }),
    /** Origins of the pages that may use the API. `*` allows all origins. */
    CORS_ORIGINS: origins({ default: [] }),
    COMPRESSION: settings.bool({ default: false }),
    /** The identity provider (OpenID Connect) with which people sign in. */
    OIDC_ISSUER: oidc.issuer,
    OIDC_CLIENT_ID: oidc.clientId,
    OIDC_CLIENT_SECRET: oidc.clientSecret,
    /** Scopes that are requested in addition to `openid`, `email` and `profile`. */
    OIDC_SCOPES: oidc.scopes,
    /** The text of the button on the sign-in page. */
    OIDC_NAME: oidc.name,
    /** The account in which the gateway creates users whom the account does not know. */
    OIDC_CREATE_USERS: oidc.createUsers,
    /** The claim that decides the role of a new user, and the role for each value of the claim. */
    OIDC_ROLE_CLAIM: oidc.roleClaim,
    OIDC_ROLES: oidc.roles,
    /** `/readyz` returns 503 until this file exists. */
    READY_MARKER: settings.str({ default: undefined as string | undefined }),
    ...settings.serviceTokenSettings(env),
    ...settings.tlsSettings(env),
    ...settings.traceSettings(),
  })
}
