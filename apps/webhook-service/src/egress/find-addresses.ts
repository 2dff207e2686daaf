import { isIP } from 'node:net'
import { resolveHost } from './connect'
import type { EgressGuard } from './egress-guard'

/** The addresses of a URL's host name, and those of them that the guard allows. Throws as `resolveHost` does. */
export const findAddresses = async (
  hostname: string,
  { guard, resolve = resolveHost }: { guard: EgressGuard; resolve?: typeof resolveHost },
) => {
  const host = hostname.replace(/^\[|\]$/g, '')
  // The URL parser has normalised an address already: it is not resolved.
  const found = isIP(host) ? [host] : await resolve(host)
  return { host, found, allowed: found.filter((address) => guard(host, address)) }
}
