import { isIP } from 'node:net'
import { makeValidator } from './config'

/** An address that clients use, with a path or without one; it gets no slash at its end, and none twice, as in PUBLIC_URL/assets of one with a slash. */
export const publicUrl = makeValidator<string>((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    throw new TypeError('is no http(s) address without credentials, query and fragment')
  return `${url.origin}${url.pathname.replace(/\/{2,}/g, '/')}`.replace(/\/$/, '')
})

/** A name or an address, IPv6 in brackets, and a port, which is 443 by default. */
const isHostPort = (text: string, version?: number): boolean => {
  const [, v6, host = v6, port = '443'] = /^(?:\[(.+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return false
  return version ? isIP(host) === version : v6 === undefined || isIP(v6) === 6
}

const VERSIONS: Record<string, number> = { ipv4: 4, ipv6: 6 }

// The schemes of grpc-js. Settings are checked without loading it.
const isTarget = (text: string): boolean => {
  const [, scheme = 'dns', rest = ''] = /^(?:(dns|ipv4|ipv6|unix):(?:\/\/[^/]*\/)?)?(.*)$/.exec(text) ?? []
  const version = VERSIONS[scheme]
  if (version) return rest.split(',').every((address) => isHostPort(address, version))
  return scheme === 'unix' ? rest !== '' : isHostPort(rest)
}

/** Where a service answers gRPC. */
export const grpcTarget = makeValidator<string>((text) => {
  if (isTarget(text)) return text
  throw new TypeError(`"${text}" is no gRPC target such as dns:///leads-service:4000`)
})
