import type { Actor } from '@leadwire/contracts'
import type { FastifyRequest } from 'fastify'

/** Who asks for a change, and by which request: the services record it with the change. */
export const actorOf = ({ principal, id }: Pick<FastifyRequest, 'principal' | 'id'>): Actor => ({
  tokenId: principal.tokenId,
  tokenName: principal.name,
  requestId: id,
})
