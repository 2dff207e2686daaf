import { isIP } from 'node:net'
import { makeValidator } from './config'

/**
 * Validates an http(s) URL that clients use, with or without a path. Removes repeated slashes and the
 * trailing slash, so that callers can append a path.
 */
export const publicUrl = makeValidator<string>((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    throw new TypeError('must be an http(s) address without credentials, query and fragment')
  return `${url.origin}${url.pathname.replace(/\/{2,}/g, '/')}`.replace(/\/$/, '')
})

/** Returns whether `text` is a host name or IP address (IPv6 in brackets) with an optional port. */
const isHostPort = (text: string, version?: number): boolean => {
  const [, v6, host = v6, port = '443'] = /^(?:\[(.+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return false
  return version ? isIP(host) === version : v6 === undefined || isIP(v6) === 6
}

const VERSIONS: Record<string, number> = { ipv4: 4, ipv6: 6 }

// Lists the schemes of grpc-js here, so that a check of settings need not load grpc-js.
const isTarget = (text: string): boolean => {
  const [, scheme = 'dns', rest = ''] = /^(?:(dns|ipv4|ipv6|unix):(?:\/\/[^/]*\/)?)?(.*)$/.exec(text) ?? []
  const version = VERSIONS[scheme]
  if (version) return rest.split(',').every((address) => isHostPort(address, version))
  return scheme === 'unix' ? rest !== '' : isHostPort(rest)
}

/** Validates the gRPC target of a service, such as `dns:///leads-service:4000`. */
export const grpcTarget = makeValidator<string>((text) => {
  if (isTarget(text)) return text
  throw new TypeError(`"${text}" is not a gRPC target such as dns:///leads-service:4000`)
})
