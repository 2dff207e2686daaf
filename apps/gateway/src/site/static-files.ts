import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isKnown } from '../http/entity-tags'

export interface StaticFile {
  type: string
  bytes: Buffer
  /** Compressed when it is first asked for: the largest takes 120 ms, which no start has to wait for. */
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

/** Sends a file, compressed to whoever reads that, or 304 to whoever has it. */
export const sendStaticFile = async (
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticFile,
  headers: Record<string, string>,
) => {
  reply.headers({ ...headers, vary: 'accept-encoding', etag: file.etag })
  if (isKnown(request, file.etag)) return reply.code(304).send()
  reply.type(file.type)
  if (!/\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(request.headers['accept-encoding'] ?? ''))
    return reply.send(file.bytes)
  return reply.header('content-encoding', 'gzip').send(await file.gzipped())
}
