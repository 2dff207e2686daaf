import { promises as dns } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/** The IP addresses of a host. */
export interface Addresses {
  known: string[]
  /** Resolves with the addresses of the other address family if they arrive later. Never rejects. */
  later: Promise<string[]>
}

export type ResolveHost = (host: string) => Promise<Addresses>

/**
 * Thrown if no IP address of a host is found. The code is LEADWIRE_RESOLVER if no name server responds, and
 * LEADWIRE_DNS if the host has no address.
 */
export interface ResolveError extends Error {
  code: 'LEADWIRE_DNS' | 'LEADWIRE_RESOLVER'
}

interface ResolverOptions {
  /** The longest time in milliseconds that the resolution of a host may take. */
  limitMs: number
  /**
   * IP addresses of name servers, with a port if it is not 53. The default is the servers of
   * /etc/resolv.conf.
   */
  servers?: string[] | undefined
  hostsFile?: string | undefined
}

/**
 * Returns the longest time for resolving the host of an attempt that may take `timeoutMs`. The result is
 * shorter than `timeoutMs`, so that an attempt whose host cannot be resolved fails with `dns` and not with
 * `timeout`.
 */
export const limitResolution = (timeoutMs: number): number => timeoutMs * 0.8

/** How long to wait for the addresses of the other family: the resolution delay of RFC 8305, section 3. */
const OTHER_FAMILY_MS = 50
const LONGEST_TTL_S = 60
const MAX_NAMES = 10_000
/** c-ares sends a query again after this time, then after twice this time, and so on. */
const QUERY_TIMEOUT_MS = 1500
const QUERY_TRIES = 3

/** The error codes of c-ares if a name has no record of the requested type. */
const NO_RECORD = ['ENOTFOUND', 'ENODATA']
/** The error codes of c-ares if no name server has sent a response. */
const NO_RESPONSE = ['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED']

const resolveError = (code: ResolveError['code'], message: string): ResolveError =>
  Object.assign(new Error(message), { code })

/** Returns these IP addresses as a complete list, to which no address is added later. */
export const knownAddresses = (known: string[]): Addresses => ({ known, later: Promise.resolve([]) })

/** Returns the IP addresses of a host in a hosts file (hosts(5)). */
const readHostsFile = async (path: string, host: string): Promise<string[]> => {
  const text = await readFile(path, 'utf8').catch(() => '')
  const addresses: string[] = []
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (address && names.some((name) => name.toLowerCase() === host)) addresses.push(address)
  }
  return addresses
}

/**
 * Creates a resolver of host names. The resolver reads the hosts file before it asks name servers, and never
 * asks a name server for `localhost` (RFC 6761). It sends only one query for each name and type at a time,
 * and caches records for their time to live, at most a minute. When one address family has addresses, the
 * resolver waits at most 50 ms for the other family, because some name servers drop the queries of that
 * family.
 */
export const createResolver = ({
  limitMs,
  servers,
  hostsFile = '/etc/hosts',
}: ResolverOptions): ResolveHost => {
  const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  if (servers) resolver.setServers(servers)
  let respondedAt = Number.NEGATIVE_INFINITY

  /** Sends a query. Sets `respondedAt` if any name server responds. */
  const query = async <Record>(send: () => Promise<Record[]>): Promise<Record[]> => {
    try {
      const records = await send()
      respondedAt = performance.now()
      return records
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (!NO_RESPONSE.includes(code)) respondedAt = performance.now()
      if (NO_RECORD.includes(code)) return []
      throw error
    }
  }

  const cache = new LRUCache<string, string[]>({
    max: MAX_NAMES,
    ttl: 1,
    fetchMethod: async (key, _stale, { options }) => {
      const [family, host] = key.split(' ') as [string, string]
      const records = await query(() =>
        family === '4' ? resolver.resolve4(host, { ttl: true }) : resolver.resolve6(host, { ttl: true }),
      )
      const ttl = Math.min(LONGEST_TTL_S, ...records.map((record) => record.ttl))
      // Keeps the result for a name without records only 1 ms, so that the next call queries the name again.
      // A time of 0 would mean no limit.
      options.ttl = records.length === 0 ? 1 : Math.max(1, ttl * 1000)
      return records.map(({ address }) => address)
    },
  })
  const findRecords = async (family: 4 | 6, host: string) => (await cache.fetch(`${family} ${host}`)) ?? []

  /**
   * Asks the name servers for the root, which every name server knows. Sets `respondedAt` if one responds.
   */
  const probe = () => query(() => resolver.resolveNs('.')).catch(() => undefined)

  /**
   * Asks the resolver of the operating system, which has other sources than DNS, such as search domains.
   * Called only if the name servers have returned no address, because the call blocks one of libuv's four
   * threads.
   */
  const askSystem = async (host: string): Promise<string[]> => {
    const found = await dns.lookup(host, { all: true }).catch(() => [])
    return found.map(({ address }) => address)
  }

  const askNameServers = async (host: string): Promise<Addresses> => {
    const startedAt = performance.now()
    const isSilent = () => respondedAt < startedAt
    const over = pause(limitMs, undefined, { ref: false })
    // Name servers may ignore the query for this name and still respond to other queries. The probe detects
    // this case.
    void pause(limitMs / 2, undefined, { ref: false }).then(() => (isSilent() ? probe() : undefined))

    const addresses: string[] = []
    const collect = async (family: 4 | 6) => {
      const records = await findRecords(family, host)
      addresses.push(...records)
      if (records.length === 0) throw resolveError('LEADWIRE_DNS', `${host} has no IPv${family} address`)
    }
    const families = [collect(4), collect(6)]
    let isComplete = false
    const complete = Promise.allSettled(families).then(() => {
      isComplete = true
    })
    const soon = Promise.any(families)
      .then(() => pause(OTHER_FAMILY_MS, undefined, { ref: false }))
      .catch(() => complete)
    await Promise.race([complete, soon, over])

    if (addresses.length > 0) {
      const known = [...addresses]
      return { known, later: Promise.race([complete, over]).then(() => addresses.slice(known.length)) }
    }
    if (isSilent()) await Promise.race([probe(), over])
    if (isSilent()) throw resolveError('LEADWIRE_RESOLVER', 'no name server responds')
    // Does not ask the operating system while queries are unanswered, because its resolver would wait for the
    // same name servers again.
    if (!isComplete) return knownAddresses([])
    return knownAddresses(await Promise.race([askSystem(host), over.then(() => [])]))
  }

  return async (name) => {
    const host = name.toLowerCase().replace(/\.$/, '')
    if (host === 'localhost' || host.endsWith('.localhost')) return knownAddresses(['127.0.0.1', '::1'])
    const pinned = await readHostsFile(hostsFile, host)
    if (pinned.length > 0) return knownAddresses(pinned)
    const found = await askNameServers(host)
    if (found.known.length === 0) throw resolveError('LEADWIRE_DNS', `${host} has no address`)
    return found
  }
}
