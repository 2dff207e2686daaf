import type { FastifyInstance } from 'fastify'
import { consoleAssets } from '../paths'
import { REVALIDATED, servePages } from './static-pages'

// The page shows text of strangers (descriptions, responses of receivers) beside a token that may manage the account: only our
// scripts run, text never becomes markup, and nothing is sent elsewhere.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]

/** A page to watch webhooks on. It holds no data: it calls /manage with its reader's token. */
export const serveConsole = (app: FastifyInstance): void => {
  const pages = { folder: consoleAssets, policy: POLICY, caching: REVALIDATED }
  servePages(app, '/console', { ...pages, fileOf: () => 'index.html' })
  servePages(app, '/console/:name', { ...pages, fileOf: (name) => name })
}
