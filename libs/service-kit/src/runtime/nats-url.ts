import { makeValidator } from './config'

/**
 * The setting of the NATS servers, parted by commas: `nats://user:password@host:4222`. Each has a user and a password, unless
 * `SERVICE_AUTH=none` says that the doors between services shall be open.
 */
export const natsUrl = (env: NodeJS.ProcessEnv) =>
  makeValidator<string>((text) => {
    for (const server of text.split(',')) {
      // A fault must not show the password.
      if (!URL.canParse(server) || !/^(nats|tls):$/.test(new URL(server).protocol))
        throw new TypeError('each server must have the form nats://user:password@host:4222')
      const { username, password } = new URL(server)
      if (env['SERVICE_AUTH'] !== 'none' && !(username && password))
        throw new TypeError('a server has no user and password (or set SERVICE_AUTH=none)')
    }
    return text
  })()

/** The servers of a NATS_URL without their credentials, and the credentials of the first, as the client takes them. */
export const natsOptions = (url: string): { servers: string[]; user?: string; pass?: string } => {
  const urls = url.split(',').map((server) => new URL(server))
  const servers = urls.map(({ protocol, host }) => `${protocol}//${host}`)
  const { username, password } = urls[0]!
  return username
    ? { servers, user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    : { servers }
}
