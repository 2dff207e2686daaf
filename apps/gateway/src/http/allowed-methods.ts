import type { FastifyInstance, FastifyRequest } from 'fastify'
import findMyWay, { type Config } from 'find-my-way'
import { notFound, ProblemError } from './problem'

type Address = { url: string; methods: Set<string> }

/**
 * Records the methods of each path, for 405 responses. Call this function before routes are added.
 *
 * Adds no routes for the methods that a path lacks. These 3,000 routes would take 17 MiB, and a third of the
 * processor time at startup.
 *
 * @param options the options of the app's router
 * @returns the function that returns the error of a request: 404 for an unknown path, 405 for a method that
 * the path lacks, otherwise undefined. PATCH /leads/statuses also gets a 405, although Fastify's router takes
 * `statuses` for the reference in PATCH /leads/:reference.
 */
export const recordMethods = (
  app: FastifyInstance,
  options: Pick<Config<never>, 'ignoreTrailingSlash' | 'maxParamLength'>,
): ((request: FastifyRequest) => ProblemError | undefined) => {
  const known = new Map<string, Address>()
  const router = findMyWay(options)
  app.addHook('onRoute', ({ url, method }) => {
    const address = known.get(url) ?? { url, methods: new Set() }
    if (!known.has(url)) router.on('GET', url, () => undefined, address)
    known.set(url, address)
    for (const one of [method].flat()) address.methods.add(one)
  })
  return ({ url, routeOptions }) => {
    const address: Address | undefined = router.find('GET', url)?.store
    if (!address) return notFound()
    if (address.url === routeOptions.url) return undefined
    const allow = [...address.methods].sort().join(', ')
    return new ProblemError('method-not-allowed', `This path supports only ${allow}.`, { allow })
  }
}
