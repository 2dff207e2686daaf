import { addErrors, type Body, listTextErrors } from '@leadwire/requests'
import type { FieldErrors } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'

/**
 * Returns the parameters of a query as fields. The result has an error for each repeated parameter, for each
 * parameter that is not in `known`, and for `page` together with `cursor`.
 */
export const readQuery = ({ query }: FastifyRequest, known: readonly string[]): Body => {
  const given = query as Record<string, unknown>
  const errors: [name: string, messages: string[]][] = []
  for (const [name, value] of Object.entries(given)) {
    // Refuses misspelt and repeated filters. If the gateway ignored them, the response would have the wrong
    // records.
    if (!known.includes(name))
      errors.push([
        name,
        [`The parameter "${name}" is not allowed. Allowed parameters: ${known.join(', ') || 'none'}.`],
      ])
    else if (Array.isArray(value)) errors.push([name, [`Send the parameter ${name} only once.`]])
  }
  const both: FieldErrors =
    'page' in given && 'cursor' in given ? { page: ['Send either page or cursor, not both.'] } : {}
  // Does not check `page` here, because an invalid page counts as page 1 (`pageNumber`).
  const { page: _page, ...fields } = given
  return {
    fields,
    form: true,
    urlEncoded: true,
    errors: [both, listTextErrors(fields)].reduce(addErrors, Object.fromEntries(errors)),
  }
}
