import * as settings from '@leadwire/service-kit/runtime'
import { isAllowable } from './egress/egress-guard'
import { mailSender, mailTarget } from './notifications/mail-settings'

const DAY_MS = 24 * 3_600_000

// Reads a duration or `off`. A number without a unit is in seconds.
const disableAfter = settings.makeValidator<number>((text) =>
  text === 'off' ? Number.POSITIVE_INFINITY : settings.parseDuration(/^\d+$/.test(text) ? `${text}s` : text),
)

const durations = settings.makeValidator<number[]>((text) => text.split(',').map(settings.parseDuration))

const allowedHosts = settings.makeListValidator(isAllowable, 'a host name, address or CIDR range')

/** Reads WEBHOOK_PROXY. The error does not repeat the URL, because the URL may contain a password. */
const proxyUrl = settings.makeValidator<URL | undefined>((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isBare = url && /^https?:$/.test(url.protocol) && `${url.pathname}${url.search}${url.hash}` === '/'
  const canDecode = settings.whenValid(() => decodeURIComponent(`${url?.username}${url?.password}`))
  if (isBare && url.port !== '0' && canDecode !== undefined) return url
  throw new TypeError('must be an http://[user:password@]host[:port] or https:// URL')
})

export type Config = ReturnType<typeof readWebhookConfig>

export const readWebhookConfig = (env: NodeJS.ProcessEnv) =>
  settings.readConfig(env, {
    ...settings.grpcServiceSettings(env),
    WEBHOOK_RETRY_SCHEDULE: durations({ default: [60_000, 300_000, 900_000, 1_800_000, 3_600_000] }),
    WEBHOOK_TIMEOUT: settings.timeout({ default: 10_000 }),
    WEBHOOK_ALLOW_HOSTS: allowedHosts({ default: [] }),
    /** All webhooks are sent through this HTTP proxy. */
    WEBHOOK_PROXY: proxyUrl({ default: undefined as URL | undefined }),
    WEBHOOK_CONCURRENCY: settings.count({ default: 512 }),
    WEBHOOK_ENDPOINT_CONCURRENCY: settings.count({ default: 16 }),
    /**
     * An endpoint is disabled when all its attempts have failed for this long. Infinity: no endpoint is
     * disabled.
     */
    WEBHOOK_DISABLE_AFTER: disableAfter({ default: Number.POSITIVE_INFINITY }),
    WEBHOOK_ENDPOINTS_PER_ACCOUNT: settings.count({ default: 100 }),
    /** How long delivered and cancelled deliveries are kept, with their attempts and events. */
    DELIVERY_RETENTION: settings.retention({ default: 30 * DAY_MS }),
    /** How long exhausted deliveries and samples are kept. */
    EXHAUSTED_RETENTION: settings.retention({ default: 90 * DAY_MS }),
    IDEMPOTENCY_RETENTION: settings.retention({ default: DAY_MS }),
    /**
     * The maximum number of e-mails to one user in an hour. A digest lists the notifications beyond this
     * number. Sign-in links and invitations are not limited.
     */
    NOTIFICATIONS_PER_HOUR: settings.count({ default: 20, max: 1_000_000 }),
    SMTP_URL: mailTarget(),
    SMTP_CA_FILE: settings.caFile({
      isUsed: /^smtps?:/.test(settings.readRelatedSetting(env, 'SMTP_URL')),
      unless: 'unless SMTP_URL has smtp:// or smtps://',
    }),
    SMTP_FROM: mailSender(),
    SMTP_TIMEOUT: settings.timeout({ default: 60_000 }),
    TIME_ZONE: settings.timeZone({ default: 'Europe/London' }),
  })
