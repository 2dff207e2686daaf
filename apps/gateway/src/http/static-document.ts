import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addEncoding, unlessKnown } from './entity-tags'

/** A document that does not change while the process runs, in all encodings. */
export interface StaticDocument {
  /** The entity tag of the document without an encoding. */
  etag: string
  plain: Buffer
  br: Buffer
  gzip: Buffer
}

const ENCODINGS: ('br' | 'gzip')[] = ['br', 'gzip']
/**
 * With this quality, compressing half a megabyte takes 15 ms. The best quality takes a second, but saves only
 * a further 10 %.
 */
const BROTLI_QUALITY = 5

export const buildStaticDocument = (text: string): StaticDocument => {
  const plain = Buffer.from(text)
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
  return {
    etag: `"${hash}"`,
    plain,
    br: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    gzip: gzipSync(plain),
  }
}

/**
 * Returns the body in the encoding that the client prefers. If the client already has the body, sets the
 * status 304, and returns undefined for GET.
 */
export const sendStaticDocument = (
  request: FastifyRequest,
  reply: FastifyReply,
  document: StaticDocument,
): Buffer | undefined => {
  reply.header('cache-control', 'no-cache').header('vary', 'accept-encoding')
  const encoding = negotiate(String(request.headers['accept-encoding'] ?? ''), ENCODINGS)
  const body = unlessKnown(reply, document.etag, encoding ? document[encoding] : document.plain)
  if (encoding && reply.statusCode !== 304) {
    reply.header('content-encoding', encoding).header('etag', addEncoding(document.etag, encoding))
  }
  return body
}
