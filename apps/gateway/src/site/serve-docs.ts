import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'
import { docsPages } from '../paths'
import { readStaticFiles, type StaticFile, sendStaticFile } from './static-files'

// Scripts come from our own files alone. The explorer styles its elements inline, and its icons are data URLs.
const policy = (publicUrl: string | undefined) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    // Where "try it" sends its requests.
    `connect-src 'self'${publicUrl ? ` ${new URL(publicUrl).origin}` : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const PAGE = 'no-cache'
// The name of each file has a hash of its bytes.
const PART = 'public, max-age=31536000, immutable'

/**
 * GET /docs: the reference, to read and to try. GET /docs/guides/:name: the guides. GET /docs/:file: their parts. They hold no
 * data: the reference asks the API with the token that its reader gives it.
 */
export const serveDocs = (app: FastifyInstance, publicUrl: string | undefined): void => {
  const files = readStaticFiles(docsPages)
  const guides = readStaticFiles(join(docsPages, 'guides'))
  const headers = {
    'content-security-policy': policy(publicUrl),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  }
  const send = (
    request: FastifyRequest,
    reply: FastifyReply,
    file: StaticFile | undefined,
    caching: string,
  ) => {
    if (!file) throw new ProblemError('not-found', 'There is nothing at this address.')
    return sendStaticFile(request, reply, file, { ...headers, 'cache-control': caching })
  }
  const options = { schema: { hide: true } }
  // Parts are named relative to their page, so that it also works below a path of a proxy.
  const endsWithSlash = ({ url }: FastifyRequest) => /\/(\?|$)/.test(url)
  app.get('/docs', options, async (request, reply) => {
    if (endsWithSlash(request)) return reply.redirect('../docs', 308)
    return send(request, reply, files.get('index.html'), PAGE)
  })
  app.get('/docs/:file', options, async (request, reply) => {
    const { file } = request.params as { file: string }
    return send(request, reply, file.endsWith('.html') ? undefined : files.get(file), PART)
  })
  app.get('/docs/guides/:name', options, async (request, reply) => {
    const { name } = request.params as { name: string }
    if (endsWithSlash(request)) return reply.redirect(`../${encodeURIComponent(name)}`, 308)
    return send(request, reply, guides.get(`${name}.html`), PAGE)
  })
}
