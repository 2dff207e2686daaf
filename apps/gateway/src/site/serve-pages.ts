import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import compress from '@fastify/compress'
import serveStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PROBLEMS_PATH, ProblemError } from '../http/problem'
import { consoleFiles, docsPages } from '../paths'

const policyOf = (directives: string) =>
  `default-src 'none'; script-src 'self'; ${directives}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

// The console shows text of strangers (descriptions, responses of receivers) beside a token that may manage the account: only our
// scripts run, text never becomes markup, and nothing is sent elsewhere.
const CONSOLE_POLICY = policyOf(
  "style-src 'self'; connect-src 'self'; img-src 'self' data:; require-trusted-types-for 'script'; trusted-types 'none'",
)

const TEXT_POLICY = policyOf("style-src 'self'; img-src 'self'")

// The explorer styles its elements inline, and its icons are data URLs. "Try it" sends its requests to the API.
const referencePolicy = (publicUrl: string | undefined) => {
  const api = publicUrl ? ` ${new URL(publicUrl).origin}` : ''
  return policyOf(`style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'${api}`)
}

/** An upgrade must not leave a page with old and new parts, so a page is revalidated, which costs a 304. */
const REVALIDATED = 'no-cache'
// The name of each part has a hash of its bytes.
const FOREVER = 'public, max-age=31536000, immutable'

interface Pages {
  folder: string
  policy: string
  caching?: string
  /** The name of the file in `folder` by the parameter of the address. */
  fileOf: (name: string) => string
}

const headersOf = (policy: string, caching: string) => ({
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': policy,
  'cache-control': caching,
})

const nothingHere = () => new ProblemError('not-found', 'There is nothing at this address.')

/** GET and HEAD of static files at `url`. */
const servePages = (
  app: FastifyInstance,
  url: string,
  { folder, policy, caching = REVALIDATED, fileOf }: Pages,
): void => {
  const headers = headersOf(policy, caching)
  app.get(url, { schema: { hide: true } }, async (request, reply) => {
    const { name = '' } = request.params as { name?: string }
    // Fastify's router takes `GET *` for `GET /`.
    if (request.url === '*') throw nothingHere()
    // Pages name their parts relative to their address, so that they also work below a path of a proxy.
    const isPage = caching === REVALIDATED && /^[^?]+\/(\?|$)/.test(request.url)
    if (isPage) return reply.redirect(`../${encodeURIComponent(name || url.slice(1))}`, 308)
    const file = fileOf(name)
    if (!/^\w[\w.-]*\.(css|html|js|json|mjs|svg)$/.test(file)) {
      throw nothingHere()
    }
    return reply.headers(headers).sendFile(file, folder)
  })
}

/** The one page of the console at /console and all addresses below it, which the page itself tells apart. */
const serveConsole = (app: FastifyInstance): void => {
  const headers = headersOf(CONSOLE_POLICY, REVALIDATED)
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    const [path = ''] = request.url.split('?')
    const places = path.split('/').slice(2)
    const last = places.at(-1)
    if (last === '') return reply.redirect(`../${places.at(-2) ?? 'console'}`, 308)
    if (last?.includes('.')) throw nothingHere()
    // The page names its parts relative to its address, so that it also works below a path of a proxy.
    const way = places.length === 0 ? 'console/' : '../'.repeat(places.length - 1)
    const page = await readFile(join(consoleFiles, 'index.html'), 'utf8')
    return reply
      .headers(headers)
      .type('text/html; charset=utf-8')
      .send(page.replaceAll('"./', `"${way}`))
  }
  app.get('/console', { schema: { hide: true } }, serve)
  app.get('/console/*', { schema: { hide: true } }, serve)
  const parts = { folder: join(consoleFiles, 'assets'), policy: CONSOLE_POLICY, caching: FOREVER }
  servePages(app, '/console/assets/:name', { ...parts, fileOf: (name) => name })
}

/** Pages. They hold no data; the console and the reference call the API with their reader's token. */
export const serveSite = async (app: FastifyInstance, publicUrl: string | undefined): Promise<void> => {
  await app.register(compress, { encodings: ['gzip'], globalDecompression: false })
  await app.register(serveStatic, { serve: false, root: __dirname, cacheControl: false, acceptRanges: false })
  serveConsole(app)
  const text = { folder: docsPages, policy: TEXT_POLICY }
  servePages(app, '/favicon.ico', { ...text, fileOf: () => 'icon.svg' })
  servePages(app, '/', { ...text, fileOf: () => 'home.html' })
  servePages(app, PROBLEMS_PATH, { ...text, fileOf: () => 'problems.html' })
  servePages(app, '/docs', { ...text, policy: referencePolicy(publicUrl), fileOf: () => 'reference.html' })
  const partOf = (name: string) => (name.endsWith('.html') ? '' : name)
  servePages(app, '/docs/:name', { ...text, caching: FOREVER, fileOf: partOf })
  const guides = join(docsPages, 'guides')
  servePages(app, '/docs/guides/:name', { ...text, folder: guides, fileOf: (name) => `${name}.html` })
}
