import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

const plain = (address: string) => MAPPED.exec(address)?.[1] ?? address

/** The peer's IP address, or behind trusted proxies the first untrusted one of X-Forwarded-For; IPv4 where it is mapped. */
export const visitorAddress = (request: FastifyRequest): string =>
  isIP(request.ip) ? plain(request.ip) : plain(request.raw.socket.remoteAddress ?? '0.0.0.0')
