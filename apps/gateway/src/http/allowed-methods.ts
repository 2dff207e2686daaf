import type { FastifyInstance, FastifyRequest } from 'fastify'
import findMyWay, { type Config } from 'find-my-way'
import { notFound, ProblemError } from './problem'

type Address = { url: string; methods: Set<string> }

/**
 * Records the methods of each address; call it before routes are added. A route for each of the other methods would do, too: some
 * 3,000, which take a third of the processor time of a start, and 17 MiB.
 * @param options those of the app's router
 * @returns why a request has no route, or one of another address: PATCH /leads/statuses is none of a lead
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
    return new ProblemError('method-not-allowed', `This address takes ${allow}.`, { allow })
  }
}
