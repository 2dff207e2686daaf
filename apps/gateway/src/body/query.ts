import type { FieldErrors } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import type { Body } from '../validation/checker'
import { addErrors } from '../validation/errors'
import { textErrors } from '../validation/text-errors'

/** The parameters of a query as fields to check, with an error for each that is not `known` or is repeated. */
export const queryOf = ({ query }: FastifyRequest, known: readonly string[]): Body => {
  const given = query as Record<string, unknown>
  const errors: [name: string, messages: string[]][] = []
  for (const [name, value] of Object.entries(given)) {
    // With a misspelt or repeated filter the response would have the wrong records.
    if (!known.includes(name))
      errors.push([name, [`"${name}" is no parameter. There are: ${known.join(', ') || 'none'}.`]])
    else if (Array.isArray(value)) errors.push([name, [`The parameter ${name} may be given once.`]])
  }
  const both: FieldErrors =
    'page' in given && 'cursor' in given ? { page: ['The page can not be given with a cursor.'] } : {}
  // An invalid page is page 1 (`pageNumber`).
  const { page: _page, ...fields } = given
  return {
    fields,
    form: true,
    errors: [both, textErrors(fields)].reduce(addErrors, Object.fromEntries(errors)),
  }
}
