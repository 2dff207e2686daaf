import compress from '@fastify/compress'
import serveStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { ProblemError } from '../http/problem'

const HEADERS = {
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** An upgrade must not leave a page with old and new parts, so a page is revalidated, which costs a 304. */
export const REVALIDATED = 'no-cache'

/** Lets the routes of `app` send files, compressed. */
export const sendFiles = async (app: FastifyInstance): Promise<void> => {
  await app.register(compress, { encodings: ['gzip'], globalDecompression: false })
  await app.register(serveStatic, { serve: false, root: __dirname, cacheControl: false, acceptRanges: false })
}

/** GET and HEAD of static files at `url`. `fileOf` finds the name of the file in `folder` by the parameter of the address. */
export const servePages = (
  app: FastifyInstance,
  url: string,
  {
    folder,
    policy,
    caching,
    fileOf,
  }: {
    folder: string
    /** The content security policy. */
    policy: readonly string[]
    caching: string
    fileOf: (name: string) => string
  },
): void => {
  const headers = { ...HEADERS, 'content-security-policy': policy.join('; '), 'cache-control': caching }
  app.get(url, { schema: { hide: true } }, async (request, reply) => {
    const { name = '' } = request.params as { name?: string }
    // Pages name their parts relative to their address, so that they also work below a path of a proxy.
    const isPage = caching === REVALIDATED && /\/(\?|$)/.test(request.url)
    if (isPage) return reply.redirect(`../${encodeURIComponent(name || url.slice(1))}`, 308)
    const file = fileOf(name)
    if (!/^[\w-]+\.(css|html|js|json|mjs|svg)$/.test(file)) {
      throw new ProblemError('not-found', 'There is nothing at this address.')
    }
    return reply.headers(headers).sendFile(file, folder)
  })
}
