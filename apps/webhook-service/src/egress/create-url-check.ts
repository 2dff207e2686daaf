import { setTimeout as pause } from 'node:timers/promises'
import { isWebUrl } from '@leadwire/contracts'
import { LRUCache } from 'lru-cache'
import { type FoundAddresses, findAddresses, type Lookup } from './connect'

const RESOLVE_MS = 500

/**
 * Creates the check of a URL that is to be registered. The check resolves with the reason why no webhook
 * would be sent to the URL, or with undefined. A name that cannot be resolved now is accepted, because the
 * guard checks each connection again.
 */
export const createUrlCheck = (options: Lookup) => {
  // Caches hosts, because clients often register many endpoints at one host at about the same time.
  const hosts = new LRUCache<string, FoundAddresses>({
    max: 1000,
    ttl: 2000,
    fetchMethod: (hostname) => findAddresses(hostname, options),
  })
  return async (url: string): Promise<string | undefined> => {
    if (!isWebUrl(url)) return 'The url must be an http or https address without credentials.'
    const target = hosts.fetch(new URL(url).hostname).catch(() => undefined)
    const known = await Promise.race([target, pause(RESOLVE_MS, undefined, { ref: false })])
    if (!known || known.allowed.known.length > 0) return undefined
    // The message does not contain the IP addresses, because they would reveal the layout of an internal
    // network.
    const { host, found } = known
    const problem = found.includes(host) ? 'is not a public address' : 'does not resolve to a public address'
    return `Webhooks would be blocked: ${host} ${problem}, and WEBHOOK_ALLOW_HOSTS does not allow it.`
  }
}
