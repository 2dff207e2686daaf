import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { docsPages } from '../paths'
import { REVALIDATED, servePages } from './static-pages'

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
  const pages = { folder: docsPages, policy: policyOf(publicUrl), caching: REVALIDATED }
  servePages(app, '/docs', { ...pages, fileOf: () => 'index.html' })
  servePages(app, '/docs/:name', {
    ...{ ...pages, caching: FOREVER },
    fileOf: (name) => (name.endsWith('.html') ? '' : name),
  })
  const folder = join(docsPages, 'guides')
  servePages(app, '/docs/guides/:name', { ...pages, folder, fileOf: (name) => `${name}.html` })
}
