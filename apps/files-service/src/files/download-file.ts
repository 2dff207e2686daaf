import { ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import type { ObjectStore } from '../store/object-store'
import { signalOf } from './client-gone'
import type { FilesMetrics } from './files-metrics'
import { contentTypeOf, isObjectKey, type KeyParams } from './object-key'

// The only form of range that is served (RFC 9110, 14.1.2): from a byte to the end. Others are ignored.
const fromOf = (range: string | undefined): number =>
  Number(/^bytes=(\d{1,15})-$/.exec(range ?? '')?.[1] ?? 0)

/**
 * GET /files/<key>: the bytes, or those from a byte on (206), with back-pressure. not_found for an unknown key and for what can't
 * be one. A failed read closes the connection before the end.
 */
export const downloadFile = (
  app: FastifyInstance,
  { store, metrics }: { store: ObjectStore; metrics: FilesMetrics },
): void => {
  app.get<KeyParams>('/files/*', { exposeHeadRoute: false }, async (request, reply) => {
    const key = request.params['*']
    const from = fromOf(request.headers.range)
    const object = isObjectKey(key) ? await store.get(key, { from, signal: signalOf(reply) }) : undefined
    if (!object) throw new ServiceError('not_found', 'There is no such file.')
    object.bytes.on('data', (chunk: Buffer) => metrics.sent(chunk.length)).pause()
    return reply
      .code(from > 0 ? 206 : 200)
      .headers({ 'content-length': object.size, 'content-type': contentTypeOf(key) })
      .send(object.bytes)
  })
}
