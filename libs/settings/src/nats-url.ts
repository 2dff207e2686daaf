import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from '@nats-io/transport-node'
import { count, isSet, makeValidator, readRelatedSetting, type Spec } from './config'
import { caFile } from './tls-settings'

const KEYS = ['NATS_CREDENTIALS', 'NATS_NKEY'] as const

const isTls = (url: string): boolean => /^tls:/.test(url)

/**
 * Throws a TypeError if the URL of a server is invalid, or if several logins are set. A missing login is an
 * error, too, unless SERVICE_AUTH is `none`. No error shows the password.
 */
const checkServer = (server: string, env: NodeJS.ProcessEnv): void => {
  if (!URL.canParse(server) || !/^(nats|tls):$/.test(new URL(server).protocol))
    throw new TypeError('each server must have the form nats://user:password@host:4222')
  const { username, password } = new URL(server)
  const given = KEYS.filter((name) => isSet(env, name)) as string[]
  if (username && password) given.push('the user and password of a server')
  if (given.length > 1) throw new TypeError(`set only one of: ${given.join(', ')}`)
  if (given.length === 0 && env['SERVICE_AUTH'] !== 'none')
    throw new TypeError(
      `a server has no user and password: add them to its URL, or set ${KEYS.join(', ')} or SERVICE_AUTH=none`,
    )
}

/**
 * Returns a validator of servers separated by commas, such as `nats://user:password@host:4222`. Either all
 * servers have `tls://`, or none.
 */
export const natsUrl = (env: NodeJS.ProcessEnv) =>
  makeValidator<string>((text) => {
    const servers = text.split(',')
    for (const server of servers) checkServer(server, env)
    if (new Set(servers.map(isTls)).size > 1) throw new TypeError('either all servers have tls://, or none')
    return text
  })()

const natsKey = (read: (text: string) => Authenticator) =>
  makeValidator<Authenticator | undefined>((text) => {
    const authenticator = read(text)
    // Signs an empty nonce, which throws if the text is invalid.
    authenticator('')
    return authenticator
  })({ default: undefined })

/** The content of a credentials file: a user's JWT and seed. */
export const natsCredentials = () => natsKey((text) => credsAuthenticator(Buffer.from(`${text}\n`)))

/** The seed of a user's NKey. */
export const natsNkey = () => natsKey((text) => nkeyAuthenticator(Buffer.from(text)))

export const natsCaFile = (env: NodeJS.ProcessEnv) =>
  caFile({ isUsed: isTls(readRelatedSetting(env, 'NATS_URL')), unless: 'unless NATS_URL has tls://' })

/** The number of NATS servers that store each message. If unset, an existing stream keeps its number. */
export const natsReplicas = () => count({ default: undefined, max: 5 }) as Spec<number | undefined>

export interface NatsConfig {
  NATS_URL: string
  NATS_CA_FILE?: string | undefined
  NATS_CREDENTIALS?: Authenticator | undefined
  NATS_NKEY?: Authenticator | undefined
}

/**
 * Returns the connection options of the NATS client. With `tls`, the client refuses servers without TLS. The
 * client reads the CA file and calls the authenticator at each connect, so both may change while the service
 * runs.
 */
export const natsOptions = (config: NatsConfig) => {
  const { NATS_URL: url, NATS_CA_FILE: caFile } = config
  const urls = () => config.NATS_URL.split(',').map((server) => new URL(server))
  const byPassword = () => {
    const { username, password } = urls()[0]!
    return username ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) } : undefined
  }
  const authenticator = (nonce?: string) =>
    (config.NATS_CREDENTIALS ?? config.NATS_NKEY ?? (byPassword as Authenticator))(nonce)
  return {
    servers: urls().map(({ protocol, host }) => `${protocol}//${host}`),
    authenticator,
    ...(isTls(url) && { tls: caFile === undefined ? {} : { caFile } }),
  }
}
