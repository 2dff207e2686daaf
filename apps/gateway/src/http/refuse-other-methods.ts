import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ProblemError } from './problem'

/** Records the methods of each address. What it returns, called after all routes are added, makes all others a 405. */
export const refuseOtherMethods = (app: FastifyInstance): (() => void) => {
  const methodsOf = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    methodsOf.set(url, new Set([...(methodsOf.get(url) ?? []), ...[method].flat()]))
  })
  for (const method of METHODS) {
    // CONNECT never reaches a route. A method that Node's parser does not know is a 400.
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method as never)) app.addHttpMethod(method)
  }
  const refuse = async () => {
    for (const [url, taken] of [...methodsOf]) {
      const allow = [...taken].sort().join(', ')
      const others = app.supportedMethods.filter((method) => !taken.has(method))
      app.route({
        method: others,
        url,
        exposeHeadRoute: false,
        schema: { hide: true },
        // In this hook, because neither the token nor the body matters.
        onRequest: async () => {
          throw new ProblemError('method-not-allowed', `This address takes ${allow}.`, { allow })
        },
        handler: async () => undefined,
      })
    }
  }
  return () => void app.register(refuse)
}
