import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { findAddresses, type Lookup } from './connect'

const RESOLVE_MS = 500

/**
 * Makes the check of a URL that is to be registered: it resolves with why nothing would be sent there. A name that is not resolved in
 * time, or not at all, may lead somewhere later; each connection is checked again.
 */
export const createUrlCheck = (options: Lookup) => {
  // Many endpoints are registered at one host, and an account has three calls at once.
  const hosts = new LRUCache<string, Awaited<ReturnType<typeof findAddresses>>>({
    ...{ max: 1000, ttl: 2000 },
    fetchMethod: (hostname) => findAddresses(hostname, options),
  })
  return async (url: string): Promise<string | undefined> => {
    const target = hosts.fetch(new URL(url).hostname).catch(() => undefined)
    const known = await Promise.race([target, pause(RESOLVE_MS, undefined, { ref: false })])
    if (!known || known.allowed.length > 0) return undefined
    // Without the addresses: they would map an internal network.
    const { host, found } = known
    const what = found.includes(host) ? 'is' : 'leads to'
    return `Webhooks would be blocked: ${host} ${what} no public address, and WEBHOOK_ALLOW_HOSTS does not allow it.`
  }
}
