import { ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import type { ObjectStore } from '../store/object-store'
import { isObjectKey, type KeyParams } from './object-key'

/** DELETE /files/<key>. Succeeds for a missing file. not_found for what can't be a key. */
export const deleteFile = (app: FastifyInstance, { store }: { store: ObjectStore }): void => {
  app.delete<KeyParams>('/files/*', async (request, reply) => {
    const key = request.params['*']
    if (!isObjectKey(key)) throw new ServiceError('not_found', 'There is no such file.')
    await store.delete(key)
    return reply.code(204).send()
  })
}
