import { count, makeValidator, type Spec, settingBeside } from './config'
import { caFile } from './tls-settings'

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
      if (env['SERVICE_AUTH'] !== 'none' && !(username && password))
        throw new TypeError('a server has no user and password (or set SERVICE_AUTH=none)')
    }
    if (new Set(servers.map(isTls)).size > 1)
      throw new TypeError('has servers with tls:// and others without')
    return text
  })()

export const natsCaFile = (env: NodeJS.ProcessEnv) =>
  caFile({ isUsed: isTls(settingBeside(env, 'NATS_URL')), unless: 'unless NATS_URL has tls://' })

/** How many servers keep each message. Without it a stream keeps the number that it has. */
export const natsReplicas = () => count({ default: undefined, max: 5 }) as Spec<number | undefined>

/** With `tls` the client refuses servers without TLS, and reads the file whenever it connects. */
export const natsOptions = (url: string, caFile?: string) => {
  const urls = url.split(',').map((server) => new URL(server))
  const { username, password } = urls[0]!
  return {
    servers: urls.map(({ protocol, host }) => `${protocol}//${host}`),
    ...(username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(isTls(url) && { tls: caFile === undefined ? {} : { caFile } }),
  }
}
