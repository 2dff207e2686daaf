import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../http/problem'
import { consoleAssets } from '../paths'
import { readStaticFiles, type StaticFile, sendStaticFile } from './static-files'

// The page shows what strangers wrote (descriptions, answers of receivers) beside a token that may manage the account:
// no script but ours, no markup made from text, nothing sent elsewhere, no frame around it.
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
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // An upgrade must not leave a page made of old and new files; a check costs a 304.
  'cache-control': 'no-cache',
}

const send = (request: FastifyRequest, reply: FastifyReply, file: StaticFile) =>
  sendStaticFile(request, reply, file, HEADERS)

/** GET /console: a page to watch webhooks on. It holds no data: it asks /manage with the token its reader gives it. */
export const serveConsole = (app: FastifyInstance): void => {
  const files = readStaticFiles(consoleAssets)
  const options = { schema: { hide: true } }
  app.get('/console', options, async (request, reply) => {
    // Its parts are named relative to /console, so that it also works below a path of a proxy.
    if (/\/(\?|$)/.test(request.url)) return reply.redirect('../console', 308)
    return send(request, reply, files.get('index.html')!)
  })
  app.get('/console/:file', options, async (request, reply) => {
    const file = files.get((request.params as { file: string }).file)
    if (!file) throw new ProblemError('not-found', 'There is nothing at this address.')
    return send(request, reply, file)
  })
}
