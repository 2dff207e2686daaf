import { isIP } from 'node:net'
import { isRange, whenValid } from '@leadwire/service-kit/runtime'
import ipaddr from 'ipaddr.js'

/** Decides whether webhooks may be sent to `address`, as `host` (a name, or an address as URLs spell it) resolved. */
export type EgressGuard = (host: string, address: string) => boolean

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

// Unicast to ipaddr.js, but not what they seem.
const REFUSED_TOO = [
  '168.63.129.16/32', // Azure's own services for a virtual machine (DNS, DHCP, its agent), at an address that looks public
  '192.88.99.0/24', // 6to4 relays
  '2002::/16', // 6to4 (RFC 3056)
  '2001::/23', // Teredo, ORCHID, benchmarking and other special purposes (RFC 2928)
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation (RFC 9637)
].map((cidr) => ipaddr.parseCIDR(cidr))

// What IANA allocates for the Internet (RFC 4291): no mapped or translated IPv4, NAT64, or address that a local network may route.
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

const inside = (address: Address, [network, bits]: Range) =>
  address.kind() === network.kind() && address.match(network, bits)

// An interface identifier that holds an IPv4 address, to which a router on the way may tunnel (RFC 5214, 6.1).
const isIsatap = ({ parts }: ipaddr.IPv6) => (parts[4]! & ~0x0200) === 0 && parts[5] === 0x5efe

const isPublic = (address: Address) => {
  if (address.range() !== 'unicast' || REFUSED_TOO.some((range) => inside(address, range))) return false
  return address instanceof ipaddr.IPv4 || (inside(address, GLOBAL_UNICAST) && !isIsatap(address))
}

const hostName = (host: string) => host.toLowerCase().replace(/^\[|\]$|\.$/g, '')

const rangeOf = (entry: string): Range | undefined => {
  if (ipaddr.isValidCIDR(entry)) return ipaddr.parseCIDR(entry)
  return isIP(entry) ? [ipaddr.parse(entry), isIP(entry) === 4 ? 32 : 128] : undefined
}

const HOST_NAME = /^[\w-]+(\.[\w-]+)*$/

/** Whether `entry` is a host name, an address or a CIDR. URLs read other hosts, such as 10.0.0.300 and 127.1, as addresses. */
export const isAllowable = (entry: string): boolean => {
  const host = hostName(entry)
  return (
    isRange(host) || (HOST_NAME.test(host) && whenValid(() => new URL(`http://${host}`).hostname) === host)
  )
}

/** Lets webhooks go to public addresses, and to what `allowed` names: host names (wherever they lead), addresses and CIDRs. */
export const createEgressGuard = (allowed: string[]): EgressGuard => {
  const entries = allowed.map(hostName)
  const ranges = entries.map(rangeOf).filter((range) => range !== undefined)
  const names = new Set(entries.filter((entry) => rangeOf(entry) === undefined))
  return (host, text) => {
    if (names.has(hostName(host))) return true
    if (!isIP(text)) return false
    // A scope names an interface, not another address.
    const address = ipaddr.parse(text.replace(/%.*$/, ''))
    return ranges.some((range) => inside(address, range)) || isPublic(address)
  }
}
