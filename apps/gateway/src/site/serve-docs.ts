import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { docsPages } from '../paths'
import { REVALIDATED, readStaticFiles, servePages } from './static-pages'

// Scripts come from our own files alone. The explorer styles its elements inline, and its icons are data URLs.
const policyOf = (publicUrl: string | undefined) => [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  // Where "try it" sends its requests.
  `connect-src 'self'${publicUrl ? ` ${new URL(publicUrl).origin}` : ''}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

// The name of each part has a hash of its bytes.
const FOREVER = 'public, max-age=31536000, immutable'

/** The reference, the guides, and their parts. They hold no data: the reference calls the API with its reader's token. */
export const serveDocs = (app: FastifyInstance, publicUrl: string | undefined): void => {
  const files = readStaticFiles(docsPages)
  const guides = readStaticFiles(join(docsPages, 'guides'))
  const policy = policyOf(publicUrl)
  const page = { policy, caching: REVALIDATED }
  servePages(app, '/docs', { ...page, fileOf: () => files.get('index.html') })
  servePages(app, '/docs/:name', {
    policy,
    caching: FOREVER,
    fileOf: (name) => (name.endsWith('.html') ? undefined : files.get(name)),
  })
  servePages(app, '/docs/guides/:name', { ...page, fileOf: (name) => guides.get(`${name}.html`) })
}
