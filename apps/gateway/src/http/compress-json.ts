import compress from '@fastify/compress'
import type { FastifyInstance, onSendHookHandler } from 'fastify'
import { addEncoding } from './entity-tags'

const JSON_TYPE = /^application\/(problem\+)?json\b/

// Adds the encoding to the entity tag, because two encodings of a body must not share a strong tag (RFC 9110,
// 8.8.3.3).
const tagEncoding: onSendHookHandler = (_request, reply, payload, done) => {
  const encoding = reply.getHeader('content-encoding')
  const etag = reply.getHeader('etag')
  // A 304 already has the tag that the client sent, which includes the encoding.
  if (reply.statusCode === 304) reply.removeHeader('content-encoding')
  else if (typeof encoding === 'string' && typeof etag === 'string')
    reply.header('etag', addEncoding(etag, encoding))
  const vary = String(reply.getHeader('vary') ?? '')
  if (!vary.includes('accept-encoding'))
    reply.header('vary', vary === '' ? 'accept-encoding' : `${vary}, accept-encoding`)
  done(null, payload)
}

/** Compresses JSON of 1 KiB and more for the routes that are added to `scope` afterwards. */
export const compressJson = async (scope: FastifyInstance): Promise<void> => {
  await scope.register(compress, {
    encodings: ['br', 'gzip'],
    customTypes: JSON_TYPE,
    threshold: 1024,
    // Decompresses no request bodies, because the API refuses compressed bodies with 415 (`readBodies`).
    globalDecompression: false,
  })
  scope.addHook('onRoute', (route) => {
    const hooks = [route.onSend ?? []].flat()
    // Fastify has a hook for HEAD that removes the body. Moves this hook to the end, so that HEAD gets the
    // same headers as GET.
    const [takeBody, ...others] = route.method === 'HEAD' ? hooks : [undefined, ...hooks]
    route.onSend = [...others, tagEncoding, ...(takeBody ? [takeBody] : [])] as onSendHookHandler[]
  })
}
