import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from '@nats-io/transport-node'
import { count, isSet, makeValidator, type Spec, settingBeside } from './config'
import { caFile } from './tls-settings'

const KEYS = ['NATS_CREDENTIALS', 'NATS_NKEY'] as const

const isTls = (url: string): boolean => /^tls:/.test(url)

/** Servers separated by commas: `nats://user:password@host:4222`, or all with `tls://`. */
export const natsUrl = (env: NodeJS.ProcessEnv) =>
  makeValidator<string>((text) => {
    const servers = text.split(',')
    for (const server of servers) {
      // The error must not show the password.
      if (!URL.canParse(server) || !/^(nats|tls):$/.test(new URL(server).protocol))
        throw new TypeError('each server must have the form nats://user:password@host:4222')
      const { username, password } = new URL(server)
      const given = KEYS.filter((name) => isSet(env, name)) as string[]
      if (username && password) given.push('the user and password of a server')
      if (given.length > 1) throw new TypeError(`only one is used: ${given.join(', ')}`)
      if (given.length === 0 && env['SERVICE_AUTH'] !== 'none')
        throw new TypeError(
          `a server has no user and password (or set ${KEYS.join(', ')}, SERVICE_AUTH=none)`,
        )
    }
    if (new Set(servers.map(isTls)).size > 1)
      throw new TypeError('has servers with tls:// and others without')
    return text
  })()

const natsKey = (read: (text: string) => Authenticator) =>
  makeValidator<Authenticator | undefined>((text) => {
    const authenticator = read(text)
    // Throws unless the text is valid.
    authenticator('')
    return authenticator
  })({ default: undefined })

/** The text of a credentials file: a user's JWT and seed. */
export const natsCredentials = () => natsKey((text) => credsAuthenticator(Buffer.from(`${text}\n`)))

/** The seed of a user's NKey. */
export const natsNkey = () => natsKey((text) => nkeyAuthenticator(Buffer.from(text)))

export const natsCaFile = (env: NodeJS.ProcessEnv) =>
  caFile({ isUsed: isTls(settingBeside(env, 'NATS_URL')), unless: 'unless NATS_URL has tls://' })

/** How many servers keep each message. Without it a stream keeps the number that it has. */
export const natsReplicas = () => count({ default: undefined, max: 5 }) as Spec<number | undefined>

export interface NatsConfig {
  NATS_URL: string
  NATS_CA_FILE?: string | undefined
  NATS_CREDENTIALS?: Authenticator | undefined
  NATS_NKEY?: Authenticator | undefined
}

/** With `tls` the client refuses servers without TLS. It reads the file, and asks the authenticator, whenever it connects. */
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
