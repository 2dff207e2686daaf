import { addErrors, type Body, listTextErrors } from '@leadwire/requests'
import type { FieldErrors } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'

/**
 * Returns the parameters of a query as fields, with an error for each parameter that is repeated or not in
 * `known`.
 */
export const readQuery = ({ query }: FastifyRequest, known: readonly string[]): Body => {
  const given = query as Record<string, unknown>
  const errors: [name: string, messages: string[]][] = []
  for (const [name, value] of Object.entries(given)) {
    // Ignoring a misspelt or repeated filter would return the wrong records.
    if (!known.includes(name))
      errors.push([
        name,
        [`The parameter "${name}" is not allowed. Allowed parameters: ${known.join(', ') || 'none'}.`],
      ])
    else if (Array.isArray(value)) errors.push([name, [`Send the parameter ${name} only once.`]])
  }
  const both: FieldErrors =
    'page' in given && 'cursor' in given ? { page: ['Send either page or cursor, not both.'] } : {}
  // `page` is not checked here: an invalid page counts as page 1 (`pageNumber`).
  const { page: _page, ...fields } = given
  return {
    fields,
    form: true,
    urlEncoded: true,
    errors: [both, listTextErrors(fields)].reduce(addErrors, Object.fromEntries(errors)),
  }
}
