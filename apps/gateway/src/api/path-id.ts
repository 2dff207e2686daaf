import { ServiceError } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'

/** The `id` of an address; what is no positive integer names nothing (404). */
export const pathId = (request: FastifyRequest): number => {
  const { id } = request.params as { id: string }
  const number = /^[1-9]\d{0,15}$/.test(id) ? Number(id) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new ServiceError('not_found', 'There is nothing with this id.')
  return number
}
