import { ServiceError } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import { UUID } from '../validation/formats'

/** The `id` of an address. What is no positive integer names nothing (404). */
export const pathId = (request: FastifyRequest): number => {
  const { id } = request.params as { id: string }
  const number = /^[1-9]\d{0,15}$/.test(id) ? Number(id) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new ServiceError('not_found', 'There is nothing with this id.')
  return number
}

/** The lead reference of an address in lower case. What is no UUID names no lead (404). */
export const leadReference = (request: FastifyRequest): string => {
  const { reference } = request.params as { reference: string }
  if (!UUID.test(reference)) throw new ServiceError('not_found', 'There is no such lead.')
  return reference.toLowerCase()
}
