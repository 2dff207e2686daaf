import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import type { Body } from '../validation/checker'
import { addErrors } from '../validation/errors'
import { textErrors } from '../validation/text-errors'

const errorOf = (name: string, value: unknown, known: readonly string[]): string | undefined => {
  // With a misspelt or repeated filter the response would have the wrong records.
  if (!known.includes(name)) return `"${name}" is no parameter. There are: ${known.join(', ') || 'none'}.`
  return Array.isArray(value) ? `The parameter ${name} may be given once.` : undefined
}

const errorsOf = (given: Record<string, unknown>, known: readonly string[]): FieldErrors =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const error = errorOf(name, value, known)
      return error === undefined ? [] : [[name, [error]]]
    }),
  )

const both = (given: Record<string, unknown>): FieldErrors =>
  'page' in given && 'cursor' in given ? { page: ['The page can not be given with a cursor.'] } : {}

/** The parameters of a query as fields to check, with an error for each that is not `known` or is repeated. */
export const queryOf = ({ query }: FastifyRequest, known: readonly string[]): Body => {
  const given = query as Record<string, unknown>
  // An invalid page is page 1 (`pageNumber`).
  const { page: _page, ...fields } = given
  const errors = [both(given), textErrors(fields)].reduce(addErrors, errorsOf(given, known))
  return { fields, form: true, errors }
}

/** Throws invalid for any parameter. */
export const refuseQuery = (request: FastifyRequest): void => {
  const { errors } = queryOf(request, [])
  if (Object.keys(errors).length > 0) throw ServiceError.invalid(errors)
}
