import { isIP } from 'node:net'
import { isRange, whenValid } from '@leadwire/service-kit/runtime'
import ipaddr from 'ipaddr.js'

/**
 * Returns whether webhooks may be sent to the IP address `address`. `host` is the host of the URL: a name
 * that was resolved to this address, or the address itself.
 */
export type EgressGuard = (host: string, address: string) => boolean

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

// ipaddr.js classifies these ranges as unicast, but they are not ordinary public addresses.
const REFUSED = [
  '168.63.129.16/32', // Azure's services for a virtual machine (DNS, DHCP, agent)
  '192.88.99.0/24', // 6to4 relays
  '2002::/16', // 6to4 (RFC 3056)
  '2001::/23', // Teredo, ORCHID, benchmarking and other special purposes (RFC 2928)
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation (RFC 9637)
].map((cidr) => ipaddr.parseCIDR(cidr))

// IANA allocates public IPv6 addresses only from this range (RFC 4291). The range excludes mapped and
// translated IPv4 addresses, NAT64, and addresses of local networks.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

const isInside = (address: Address, [network, bits]: Range) =>
  address.kind() === network.kind() && address.match(network, bits)

/**
 * Returns whether the address contains an IPv4 address to which a router may tunnel (ISATAP; RFC 5214, 6.1).
 */
const isIsatap = ({ parts }: ipaddr.IPv6) => (parts[4]! & ~0x0200) === 0 && parts[5] === 0x5efe

const isPublic = (address: Address) => {
  if (address.range() !== 'unicast' || REFUSED.some((range) => isInside(address, range))) return false
  return address instanceof ipaddr.IPv4 || (isInside(address, GLOBAL_UNICAST) && !isIsatap(address))
}

/** Returns a host in lower case, without the brackets of an IPv6 address and without a final dot. */
const normaliseHost = (host: string) => host.toLowerCase().replace(/^\[|\]$|\.$/g, '')

const parseRange = (entry: string): Range | undefined => {
  if (ipaddr.isValidCIDR(entry)) return ipaddr.parseCIDR(entry)
  return isIP(entry) ? [ipaddr.parse(entry), isIP(entry) === 4 ? 32 : 128] : undefined
}

const HOST_NAME = /^[\w-]+(\.[\w-]+)*$/

/**
 * Returns whether `entry` is a host name, an IP address or a CIDR range. Refuses names that a URL parser
 * reads as addresses (such as 127.1) or rejects (such as 10.0.0.300).
 */
export const isAllowable = (entry: string): boolean => {
  const host = normaliseHost(entry)
  if (isRange(host)) return true
  return HOST_NAME.test(host) && whenValid(() => new URL(`http://${host}`).hostname) === host
}

/**
 * Creates a guard that allows public IP addresses and the entries of `allowed`: IP addresses, CIDR ranges and
 * host names. An allowed host name may resolve to any IP address.
 */
export const createEgressGuard = (allowed: string[]): EgressGuard => {
  const entries = allowed.map(normaliseHost)
  const ranges = entries.map(parseRange).filter((range) => range !== undefined)
  const names = new Set(entries.filter((entry) => parseRange(entry) === undefined))
  return (host, text) => {
    if (names.has(normaliseHost(host))) return true
    if (!isIP(text)) return false
    // Removes the zone of an IPv6 address (such as %eth0), because ranges have no zones.
    const address = ipaddr.parse(text.replace(/%.*$/, ''))
    return ranges.some((range) => isInside(address, range)) || isPublic(address)
  }
}
