import { ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import type { ObjectStore } from '../store/object-store'
import { signalOf } from './client-gone'
import type { FilesMetrics } from './files-metrics'
import { contentTypeOf, isObjectKey, type KeyParams } from './object-key'

/**
 * GET /files/<key>: the bytes, read no faster than they are taken. not_found for a key that nothing is kept under, and
 * for anything that is no key. When they can't be read to their end the connection breaks off before it.
 */
export const downloadFile = (
  app: FastifyInstance,
  { store, metrics }: { store: ObjectStore; metrics: FilesMetrics },
): void => {
  app.get<KeyParams>('/files/*', { exposeHeadRoute: false }, async (request, reply) => {
    const key = request.params['*']
    const object = isObjectKey(key) ? await store.get(key, signalOf(reply)) : undefined
    if (!object) throw new ServiceError('not_found', 'There is no such file.')
    object.bytes.on('data', (chunk: Buffer) => metrics.sent(chunk.length)).pause()
    return reply
      .headers({ 'content-length': object.size, 'content-type': contentTypeOf(key) })
      .send(object.bytes)
  })
}
