import { promises as dns, type LookupAddress } from 'node:dns'

const noAddress = (host: string, cause: unknown) =>
  Object.assign(new Error(`${host} has no address`, { cause }), { code: 'LEADWIRE_DNS' })

// The servers are silent: the system's resolver would wait for them again.
const NO_ANSWER = new Set(['ETIMEOUT', 'ECANCELLED'])

/**
 * Every address of a host name. DNS is queried without the thread pool: the system's resolver blocks one of its four threads while
 * a dead name server is silent. It is used only for what DNS does not know (the hosts file, search domains). Throws an error with
 * the code LEADWIRE_DNS.
 */
export const resolveHost = async (host: string): Promise<LookupAddress[]> => {
  const [v4, v6] = await Promise.allSettled([dns.resolve4(host), dns.resolve6(host)])
  const addresses = [
    ...(v4.status === 'fulfilled' ? v4.value : []).map((address) => ({ address, family: 4 })),
    ...(v6.status === 'fulfilled' ? v6.value : []).map((address) => ({ address, family: 6 })),
  ]
  if (addresses.length > 0) return addresses
  const error = v4.status === 'rejected' ? v4.reason : undefined
  if (NO_ANSWER.has((error as { code?: string } | undefined)?.code ?? '')) throw noAddress(host, error)
  try {
    return await dns.lookup(host, { all: true })
  } catch (cause) {
    throw noAddress(host, cause)
  }
}
