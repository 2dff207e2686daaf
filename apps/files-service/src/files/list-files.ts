import { Readable } from 'node:stream'
import type { Lifecycle } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import type { ObjectStore } from '../store/object-store'
import { signalOf } from './client-gone'
import { isObjectKey } from './object-key'

const Age = {
  type: 'object',
  required: ['unchanged_for'],
  properties: { unchanged_for: { type: 'integer', minimum: 0 } },
}

/**
 * GET /files?unchanged_for=SECONDS: the keys of all files stored that long ago, one a line, in no order, with back-pressure. A
 * failure closes the connection before the end.
 */
export const listFiles = (
  app: FastifyInstance,
  { store, lifecycle }: { store: ObjectStore; lifecycle: Lifecycle },
): void => {
  app.get<{ Querystring: { unchanged_for: number } }>(
    '/files',
    { schema: { querystring: Age }, exposeHeadRoute: false },
    async (request, reply) => {
      const before = new Date(Date.now() - request.query.unchanged_for * 1000)
      // A list of millions outlasts a drain.
      const signal = AbortSignal.any([signalOf(reply), lifecycle.signal])
      const keys = store.list({ before, signal })
      return reply.type('text/plain; charset=utf-8').send(Readable.from(linesOf(keys)))
    },
  )
}

async function* linesOf(keys: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const key of keys) if (isObjectKey(key)) yield `${key}\n`
}
