import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isKnown } from '../http/entity-tags'
import { ProblemError } from '../http/problem'

interface StaticFile {
  type: string
  bytes: Buffer
  /** Compressed at the first request: the largest takes 120 ms. */
  gzipped: () => Promise<Buffer>
  etag: string
}

const compress = promisify(gzip)

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const readStaticFile = (folder: string, name: string): StaticFile => {
  const bytes = readFileSync(join(folder, name))
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  let gzipped: Promise<Buffer> | undefined
  return {
    type: TYPES[extname(name)]!,
    bytes,
    gzipped: () => {
      gzipped ??= compress(bytes, { level: 9 })
      return gzipped
    },
    etag,
  }
}

/** The files of a folder by their names, read once. */
export const readStaticFiles = (folder: string): Map<string, StaticFile> => {
  const names = readdirSync(folder).filter((name) => extname(name) in TYPES)
  return new Map(names.map((name) => [name, readStaticFile(folder, name)]))
}

const send = async (request: FastifyRequest, reply: FastifyReply, file: StaticFile) => {
  reply.headers({ vary: 'accept-encoding', etag: file.etag })
  if (isKnown(request, file.etag)) return reply.code(304).send()
  reply.type(file.type)
  if (!/\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(request.headers['accept-encoding'] ?? ''))
    return reply.send(file.bytes)
  return reply.header('content-encoding', 'gzip').send(await file.gzipped())
}

// A page loads no script but ours, is in no frame, and sends nothing elsewhere.
const HEADERS = {
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** An upgrade must not leave a page with old and new parts, so a page is revalidated, which costs a 304. */
export const REVALIDATED = 'no-cache'

/** GET and HEAD of static files at `url`. `fileOf` finds the file by the parameter of the address. */
export const servePages = (
  app: FastifyInstance,
  url: string,
  {
    policy,
    caching,
    fileOf,
  }: {
    /** The content security policy. */
    policy: readonly string[]
    caching: string
    fileOf: (name: string) => StaticFile | undefined
  },
): void => {
  const headers = { ...HEADERS, 'content-security-policy': policy.join('; '), 'cache-control': caching }
  app.get(url, { schema: { hide: true } }, async (request, reply) => {
    const { name = '' } = request.params as { name?: string }
    // Pages name their parts relative to their address, so that they also work below a path of a proxy.
    const isPage = caching === REVALIDATED && /\/(\?|$)/.test(request.url)
    if (isPage) return reply.redirect(`../${encodeURIComponent(name || url.slice(1))}`, 308)
    const file = fileOf(name)
    if (!file) throw new ProblemError('not-found', 'There is nothing at this address.')
    return send(request, reply.headers(headers), file)
  })
}
