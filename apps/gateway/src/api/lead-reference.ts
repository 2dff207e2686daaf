import { ServiceError } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import { UUID } from '../validation/formats'

/** The lead reference of an address in lower case; what is no UUID names no lead (404). */
export const leadReference = (request: FastifyRequest): string => {
  const { reference } = request.params as { reference: string }
  if (!UUID.test(reference)) throw new ServiceError('not_found', 'There is no such lead.')
  return reference.toLowerCase()
}
