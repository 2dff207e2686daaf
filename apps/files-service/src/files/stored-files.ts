import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { FILE_FORMATS, type FileFormat } from '@leadwire/contracts'
import { type Lifecycle, type Logger, ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ObjectStore } from '../store/object-store'
import type { FilesMetrics } from './files-metrics'

export interface Dependencies {
  store: ObjectStore
  metrics: FilesMetrics
  logger: Logger
  lifecycle: Lifecycle
}

const KINDS = Object.values(FILE_FORMATS)
const EXTENSIONS = KINDS.map(({ extension }) => extension).join('|')
const KEY = new RegExp(`^[a-z]+/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.(${EXTENSIONS})$`)

/** A unique key that can't be guessed: `<collection>/<random uuid>.<extension>`, without any text of a client. */
export const newObjectKey = (collection: string, format: FileFormat): string =>
  `${collection}/${randomUUID()}.${FILE_FORMATS[format].extension}`

/** Whether `newObjectKey` could have made it. No other key may reach a store, where it becomes a path. */
const isObjectKey = (key: string): boolean => KEY.test(key)

const contentTypeOf = (key: string): string =>
  KINDS.find(({ extension }) => key.endsWith(`.${extension}`))!.contentType

/** Aborts when the client disconnects, and when its response is complete. */
export const signalOf = ({ raw }: FastifyReply): AbortSignal => {
  const controller = new AbortController()
  if (raw.destroyed) controller.abort()
  else raw.once('close', () => controller.abort())
  return controller.signal
}

interface ByKey {
  Params: { '*': string }
}

const noSuchFile = () => new ServiceError('not_found', 'There is no such file.')

/** DELETE /files/<key>. Succeeds for a missing file. not_found for what can't be a key. */
export const deleteFile = (app: FastifyInstance, { store }: Dependencies): void => {
  app.delete<ByKey>('/files/*', async ({ params: { '*': key } }, reply) => {
    if (!isObjectKey(key)) throw noSuchFile()
    await store.delete(key)
    return reply.code(204).send()
  })
}

// The only form of range that is served (RFC 9110, 14.1.2): from a byte to the end. Others are ignored.
const fromOf = (range: string | undefined): number =>
  Number(/^bytes=(\d{1,15})-$/.exec(range ?? '')?.[1] ?? 0)

/**
 * GET /files/<key>: the bytes, or those from a byte on (206), with back-pressure. not_found for an unknown key and for what can't
 * be one. A failed read closes the connection before the end.
 */
export const downloadFile = (app: FastifyInstance, { store, metrics }: Dependencies): void => {
  app.get<ByKey>('/files/*', { exposeHeadRoute: false }, async ({ params: { '*': key }, headers }, reply) => {
    const from = fromOf(headers.range)
    const object = isObjectKey(key) ? await store.get(key, { from, signal: signalOf(reply) }) : undefined
    if (!object) throw noSuchFile()
    object.bytes.on('data', (chunk: Buffer) => metrics.bytes.inc({ direction: 'out' }, chunk.length)).pause()
    return reply
      .code(from > 0 ? 206 : 200)
      .headers({ 'content-length': object.size, 'content-type': contentTypeOf(key) })
      .send(object.bytes)
  })
}

const Age = {
  type: 'object',
  required: ['unchanged_for'],
  properties: { unchanged_for: { type: 'integer', minimum: 0 } },
}

async function* linesOf(keys: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const key of keys) if (isObjectKey(key)) yield `${key}\n`
}

/**
 * GET /files?unchanged_for=SECONDS: the keys of all files stored that long ago, one a line, in no order, with back-pressure. A
 * failure closes the connection before the end.
 */
export const listFiles = (app: FastifyInstance, { store, lifecycle }: Dependencies): void => {
  app.get<{ Querystring: { unchanged_for: number } }>(
    '/files',
    { schema: { querystring: Age }, exposeHeadRoute: false },
    async ({ query }, reply) => {
      const before = new Date(Date.now() - query.unchanged_for * 1000)
      // A list of millions outlasts a drain.
      const signal = AbortSignal.any([signalOf(reply), lifecycle.signal])
      const keys = store.list({ before, signal })
      return reply.type('text/plain; charset=utf-8').send(Readable.from(linesOf(keys)))
    },
  )
}
