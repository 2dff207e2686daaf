import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

const HOST = /^[A-Za-z0-9._-]{1,253}(?::\d{1,5})?$|^\[[0-9a-fA-F:.]{2,45}\](?::\d{1,5})?$/

const hostOf = (request: FastifyRequest): string => {
  if (HOST.test(request.host)) return request.host
  // HTTP/1.0 needs no Host header, and a malformed one must not get into addresses.
  const { localAddress = '127.0.0.1', localPort } = request.raw.socket
  return `${isIP(localAddress) === 6 ? `[${localAddress}]` : localAddress}:${localPort}`
}

/** The address of the API, without a slash at its end: the configured one, else the request's own. */
export const publicAddress =
  (publicUrl: string | undefined) =>
  (request: FastifyRequest): string =>
    publicUrl ?? `${request.protocol === 'https' ? 'https' : 'http'}://${hostOf(request)}`
