import type { Faults } from '@leadwire/service-kit'

/**
 * The parameters of a query that an operation does not have, or that are given more than once: a misspelt filter, or the last of two,
 * would show records that nobody asked for.
 */
export const queryFaults = (given: Record<string, unknown>, parameters: string[]): Faults =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      if (!parameters.includes(name))
        return [[name, [`There is no parameter ${name}. There are: ${parameters.join(', ')}.`]]]
      return Array.isArray(value) ? [[name, [`The parameter ${name} may be given only once.`]]] : []
    }),
  )
