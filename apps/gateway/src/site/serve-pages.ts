import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import serveStatic from '@fastify/static'
import { PROBLEMS_PATH } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'
import { consoleFiles, docsPages } from '../paths'

const buildPolicy = (directives: string) =>
  `default-src 'none'; script-src 'self'; ${directives}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

// The console shows text from strangers (descriptions, responses of receivers) beside a token that may manage
// the account. The policy therefore allows only the console's own scripts, never turns text into markup, and
// blocks requests to other origins.
const CONSOLE_POLICY = buildPolicy(
  "style-src 'self'; connect-src 'self'; img-src 'self' data:; require-trusted-types-for 'script'; trusted-types 'none'",
)

const TEXT_POLICY = buildPolicy("style-src 'self'; img-src 'self'")

// The explorer needs inline styles and data URLs for its icons. "Try it" sends requests to the API.
const REFERENCE_POLICY = buildPolicy(
  "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'",
)

/**
 * Makes the browser revalidate a page each time. The response is usually 304. After an upgrade, no page then
 * refers to parts of the old version.
 */
const REVALIDATED = 'no-cache'
// Scripts, styles and images may be cached for ever, because their names contain a hash of their bytes.
const FOREVER = 'public, max-age=31536000, immutable'

interface Pages {
  folder: string
  policy: string
  caching?: string
  /** Returns the name of the file in `folder`. `name` is the parameter of the path. */
  findFile: (name: string) => string
}

const buildHeaders = (policy: string, caching: string) => ({
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': policy,
  'cache-control': caching,
  vary: 'accept-encoding',
})

const nothingHere = () => new ProblemError('not-found', 'There is nothing at this address.')

/** Serves GET and HEAD of static files at `url`. */
const servePages = (
  app: FastifyInstance,
  url: string,
  { folder, policy, caching = REVALIDATED, findFile }: Pages,
): void => {
  const headers = buildHeaders(policy, caching)
  app.get(url, { schema: { hide: true } }, async (request, reply) => {
    const { name = '' } = request.params as { name?: string }
    // Refuses `GET *`, which Fastify's router treats as `GET /`.
    if (request.url === '*') throw nothingHere()
    // Redirects a URL with a trailing slash, because the page's relative URLs would be wrong below such a
    // URL. The URLs are relative so that the pages also work below a path of a proxy.
    const isPage = caching === REVALIDATED && /^[^?]+\/(\?|$)/.test(request.url)
    if (isPage) return reply.redirect(`../${encodeURIComponent(name || url.slice(1))}`, 308)
    const file = findFile(name)
    if (!/^\w[\w.-]*\.(css|html|js|json|mjs|svg)$/.test(file)) {
      throw nothingHere()
    }
    return reply.headers(headers).sendFile(file, folder)
  })
}

/** Serves the console's single page at /console and at all paths below. The page's script reads the path. */
const serveConsole = async (app: FastifyInstance): Promise<void> => {
  const page = await readFile(join(consoleFiles, 'index.html'), 'utf8')
  const headers = buildHeaders(CONSOLE_POLICY, REVALIDATED)
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    const [path = ''] = request.url.split('?')
    const places = path.split('/').slice(2)
    const last = places.at(-1)
    if (last === '') return reply.redirect(`../${places.at(-2) ?? 'console'}`, 308)
    if (last?.includes('.')) throw nothingHere()
    // Makes the URLs in the page relative to the path of the request, so that the page also works below a
    // path of a proxy.
    const way = places.length === 0 ? 'console/' : '../'.repeat(places.length - 1)
    return reply
      .headers(headers)
      .type('text/html; charset=utf-8')
      .send(page.replaceAll('"./', `"${way}`))
  }
  app.get('/console', { schema: { hide: true } }, serve)
  app.get('/console/*', { schema: { hide: true } }, serve)
  const parts = { folder: join(consoleFiles, 'assets'), policy: CONSOLE_POLICY, caching: FOREVER }
  servePages(app, '/console/assets/:name', { ...parts, findFile: (name) => name })
}

/**
 * Serves the console and the documentation. The pages contain no data: the console and the reference call
 * the API with the reader's token.
 */
export const serveSite = async (app: FastifyInstance): Promise<void> => {
  await app.register(serveStatic, {
    serve: false,
    root: __dirname,
    cacheControl: false,
    acceptRanges: false,
    // The build compresses the files (tools/precompress.mjs). If each request compressed its file, anybody
    // could use up the processor.
    preCompressed: true,
  })
  await serveConsole(app)
  const text = { folder: docsPages, policy: TEXT_POLICY }
  servePages(app, '/favicon.ico', { ...text, findFile: () => 'icon.svg' })
  servePages(app, '/', { ...text, findFile: () => 'home.html' })
  servePages(app, PROBLEMS_PATH, { ...text, findFile: () => 'problems.html' })
  servePages(app, '/docs', { ...text, policy: REFERENCE_POLICY, findFile: () => 'reference.html' })
  const findPart = (name: string) => (name.endsWith('.html') ? '' : name)
  servePages(app, '/docs/:name', { ...text, caching: FOREVER, findFile: findPart })
  const guides = join(docsPages, 'guides')
  servePages(app, '/docs/guides/:name', { ...text, folder: guides, findFile: (name) => `${name}.html` })
}
