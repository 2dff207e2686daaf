import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

const plain = (address: string) => MAPPED.exec(address)?.[1] ?? address

/**
 * The IP address a request comes from: the peer's, or the first untrusted one of X-Forwarded-For behind trusted
 * proxies. An IPv4 address mapped into IPv6 is given as IPv4; what a proxy sent and is no address is not believed.
 */
export const visitorAddress = (request: FastifyRequest): string =>
  isIP(request.ip) ? plain(request.ip) : plain(request.raw.socket.remoteAddress ?? '0.0.0.0')
