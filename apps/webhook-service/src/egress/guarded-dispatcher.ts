import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'
import type { EgressGuard } from './egress-guard'
import { resolveHost } from './resolve-host'

const blocked = (host: string) =>
  Object.assign(new Error(`webhooks may not be sent to ${host}`), { code: 'LEADWIRE_BLOCKED' })

// Shorter than the idle time of any common server: one that closes a connection just as it is used again would cost
// the receiver an attempt. A server that says how long it keeps connections is believed, with a second to spare.
const IDLE_MS = 1000
const IDLE_AT_MOST_MS = 60_000

/**
 * An HTTP client that asks the guard when it connects, and connects to the very address the guard was asked about:
 * what DNS says a moment later does not matter. Connections are kept and used again. `connectMs` bounds connecting,
 * from the name to the end of the TLS handshake.
 */
export const createGuardedDispatcher = (options: {
  guard: EgressGuard
  connectMs: number
  resolve?: typeof resolveHost
}): Agent => {
  const { guard, connectMs, resolve = resolveHost } = options

  const lookup: LookupFunction = (host, { all }, callback) => {
    const settle = async () => {
      const addresses = (await resolve(host)).filter(({ address }) => guard.allows(host, address))
      const [first] = addresses
      if (!first) throw blocked(host)
      if (all) callback(null, addresses)
      else callback(null, first.address, first.family)
    }
    settle().catch((error) => callback(error, '', 0))
  }
  const connectTo = buildConnector({ lookup, timeout: connectMs, allowH2: false })

  return new Agent({
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_AT_MOST_MS,
    connect: (target, callback) => {
      // An address in the URL is never looked up; the URL parser has written it in its plain form already.
      const host = target.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) && !guard.allows(host, host)) callback(blocked(host), null)
      else connectTo({ ...target, hostname: host }, callback)
    },
  })
}
