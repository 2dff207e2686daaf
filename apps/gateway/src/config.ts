import { isIP } from 'node:net'
import {
  count,
  host,
  logLevel,
  makeValidator,
  port,
  readConfig,
  serviceTokenSettings,
  str,
  timeZone,
} from '@leadwire/service-kit/runtime'

export type GatewayConfig = ReturnType<typeof readGatewayConfig>

const publicUrl = makeValidator<string | undefined>((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
    throw new TypeError(`"${text}" is no http(s) address without credentials, query and fragment`)
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
})

const isHttpOrigin = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' && url.href === `${url.origin}/`
}

const httpUrls = makeValidator<URL[]>((text) => {
  const urls = text.split(',').map((url) => url.trim())
  const wrong = urls.filter((url) => !isHttpOrigin(url))
  if (wrong.length > 0)
    throw new TypeError(`no address such as http://files-service:4000: ${wrong.join(', ')}`)
  return urls.map((url) => new URL(url))
})

const isRange = (entry: string): boolean => {
  const [address = '', bits, ...rest] = entry.split('/')
  const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return (
    widest > 0 && rest.length === 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= widest))
  )
}

const proxies = makeValidator<string[]>((text) => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  const wrong = entries.filter((entry) => !isRange(entry))
  if (wrong.length > 0) throw new TypeError(`no address or CIDR range: ${wrong.join(', ')}`)
  return entries
})

/** The gateway's settings. Throws a ConfigError with every fault at once. */
export const readGatewayConfig = (env: NodeJS.ProcessEnv) =>
  readConfig(env, {
    LOG_LEVEL: logLevel(),
    HOST: host({ default: '127.0.0.1' }),
    PORT: port({ default: 3000 }),
    HEALTH_PORT: port(),
    LEADS_SERVICE_URL: str(),
    FILES_SERVICE_URL: httpUrls(),
    WEBHOOK_SERVICE_URL: str(),
    /** The address clients know the API by, without a slash at its end; without it, each request's own. */
    PUBLIC_URL: publicUrl({ default: undefined }),
    /** Addresses and CIDR ranges whose X-Forwarded-* headers are believed. */
    TRUSTED_PROXIES: proxies({ default: [] }),
    /** The time zone in which clients give the dates of appointments and callbacks. */
    TIME_ZONE: timeZone({ default: 'Europe/London' }),
    /** How many uploads of an account this copy takes at once. */
    ACCOUNT_MAX_UPLOADS: count({ default: 32, max: 999_999_999 }),
    ...serviceTokenSettings(env),
  })
