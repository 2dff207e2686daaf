import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

const HOST = /^[A-Za-z0-9._-]{1,253}(?::\d{1,5})?$|^\[[0-9a-fA-F:.]{2,45}\](?::\d{1,5})?$/

/** Returns a host in the form that a URL needs. An IPv6 address gets brackets. */
const bracketIpv6 = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host)

const readHost = (request: FastifyRequest): string => {
  if (HOST.test(request.host)) return request.host
  // Uses the address of the connection if the Host header is missing or malformed. HTTP/1.0 requires no Host
  // header, and a malformed Host must not appear in URLs.
  const { localAddress = '127.0.0.1', localPort } = request.raw.socket
  return `${bracketIpv6(localAddress)}:${localPort}`
}

/**
 * Returns the base URL of the API, without a trailing slash, for data that is stored or sent elsewhere:
 * events, saved responses, exports, links. The URL must not depend on a header, because receivers send their
 * tokens to the URLs in signed events. Without PUBLIC_URL, returns the gateway's own URL. The gateway then
 * listens only on loopback.
 */
export const findConfiguredAddress = (config: {
  PUBLIC_URL: string | undefined
  HOST: string
  PORT: number
}): string => config.PUBLIC_URL ?? `http://${bracketIpv6(config.HOST)}:${config.PORT}`

/**
 * Makes the function that returns the base URL of the API, without a trailing slash, for a response that only
 * its requester reads. The URL is PUBLIC_URL if PUBLIC_URL is set, otherwise the base URL to which the
 * request was sent.
 */
export const createFindAddress =
  (publicUrl: string | undefined) =>
  (request: FastifyRequest): string =>
    publicUrl ?? `${request.protocol === 'https' ? 'https' : 'http'}://${readHost(request)}`
