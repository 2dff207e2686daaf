import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

const plain = (address: string) => MAPPED.exec(address)?.[1] ?? address

/**
 * The IP address that a request comes from: the peer's, or behind trusted proxies the first untrusted one of X-Forwarded-For. An IPv4
 * address that is mapped into IPv6 becomes IPv4. A value that is no address is ignored.
 */
export const visitorAddress = (request: FastifyRequest): string =>
  isIP(request.ip) ? plain(request.ip) : plain(request.raw.socket.remoteAddress ?? '0.0.0.0')
