import { count, makeValidator, type Spec, settingBeside } from './config'
import { caFile } from './tls-settings'

const isTls = (url: string): boolean => /^tls:/.test(url)

/**
 * The setting of the NATS servers, parted by commas: `nats://user:password@host:4222`, or `tls://` each. Each has a user and a
 * password, unless `SERVICE_AUTH=none` says that the doors between services shall be open.
 */
export const natsUrl = (env: NodeJS.ProcessEnv) =>
  makeValidator<string>((text) => {
    const servers = text.split(',')
    for (const server of servers) {
      // A fault must not show the password.
      if (!URL.canParse(server) || !/^(nats|tls):$/.test(new URL(server).protocol))
        throw new TypeError('each server must have the form nats://user:password@host:4222')
      const { username, password } = new URL(server)
      if (env['SERVICE_AUTH'] !== 'none' && !(username && password))
        throw new TypeError('a server has no user and password (or set SERVICE_AUTH=none)')
    }
    if (new Set(servers.map(isTls)).size > 1)
      throw new TypeError('has servers with tls:// and others without')
    return text
  })()

/** The setting of the file with the authorities that the certificates of NATS servers are checked by. */
export const natsCaFile = (env: NodeJS.ProcessEnv) =>
  caFile({ isUsed: isTls(settingBeside(env, 'NATS_URL')), unless: 'unless NATS_URL has tls://' })

/** The setting of how many NATS servers keep each message; without it a stream keeps the number that it has. */
export const natsReplicas = () => count({ default: undefined, max: 5 }) as Spec<number | undefined>

/**
 * The servers of a NATS_URL without their credentials, and the credentials of the first, as the client takes them. It refuses
 * servers without TLS when `tls` is there, and reads the file whenever it connects.
 */
export const natsOptions = (
  url: string,
  caFile?: string | undefined,
): { servers: string[]; user?: string; pass?: string; tls?: { caFile?: string } } => {
  const urls = url.split(',').map((server) => new URL(server))
  const servers = urls.map(({ protocol, host }) => `${protocol}//${host}`)
  const { username, password } = urls[0]!
  return {
    servers,
    ...(username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(isTls(url) && { tls: caFile === undefined ? {} : { caFile } }),
  }
}
