import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { FILE_FORMATS, type FileFormat } from '@leadwire/contracts'
import { type Lifecycle, type Logger, ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ObjectStore } from '../store/object-store'
import type { FilesMetrics } from './files-metrics'
import type { SpoolSpace } from './spool-space'

export interface Dependencies {
  store: ObjectStore
  space: SpoolSpace
  metrics: FilesMetrics
  logger: Logger
  lifecycle: Lifecycle
  /** The time limit for detecting the format of a file, in milliseconds. */
  detectionMs?: number | undefined
}

const KINDS = Object.values(FILE_FORMATS)
const EXTENSIONS = KINDS.map(({ extension }) => extension).join('|')
const KEY = new RegExp(`^[a-z]+/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.(${EXTENSIONS})$`)

/**
 * Returns a new random key, `<collection>/<uuid>.<extension>`. No part of the key comes from an API client.
 */
export const createObjectKey = (collection: string, format: FileFormat): string =>
  `${collection}/${randomUUID()}.${FILE_FORMATS[format].extension}`

/**
 * Returns whether `createObjectKey` could have made the key. No other key may reach a store, because a store
 * uses keys as paths.
 */
const isObjectKey = (key: string): boolean => KEY.test(key)

const findContentType = (key: string): string =>
  KINDS.find(({ extension }) => key.endsWith(`.${extension}`))!.contentType

/** Returns a signal that aborts when the response is complete or the client disconnects. */
export const createCloseSignal = ({ raw }: FastifyReply): AbortSignal => {
  const controller = new AbortController()
  if (raw.destroyed) controller.abort()
  else raw.once('close', () => controller.abort())
  return controller.signal
}

interface ByKey {
  Params: { '*': string }
}

const noSuchFile = () => new ServiceError('not_found', 'There is no such file.')

/** DELETE /files/<key>. Also succeeds if the file does not exist. Throws `not_found` for a malformed key. */
export const deleteFile = (app: FastifyInstance, { store }: Dependencies): void => {
  app.delete<ByKey>('/files/*', async ({ params: { '*': key } }, reply) => {
    if (!isObjectKey(key)) throw noSuchFile()
    await store.delete(key)
    return reply.code(204).send()
  })
}

// Returns the position of the first byte of a range `bytes=N-`, which reaches to the end of the file
// (RFC 9110, 14.1.2). Returns 0 for all other forms, so that the whole file is sent.
const parseRangeStart = (range: string | undefined): number =>
  Number(/^bytes=(\d{1,15})-$/.exec(range ?? '')?.[1] ?? 0)

/**
 * GET /files/<key>. Streams the file with back-pressure. If the request has a range `bytes=N-` with N > 0,
 * streams the bytes from N to the end, with the status 206. Throws `not_found` for an unknown or malformed
 * key. If a read fails, closes the connection before the end of the file.
 */
export const downloadFile = (app: FastifyInstance, { store, metrics }: Dependencies): void => {
  app.get<ByKey>('/files/*', { exposeHeadRoute: false }, async ({ params: { '*': key }, headers }, reply) => {
    if (!isObjectKey(key)) throw noSuchFile()
    const from = parseRangeStart(headers.range)
    const object = await store.get(key, { from, signal: createCloseSignal(reply) })
    if (!object) throw noSuchFile()
    object.bytes.on('data', (chunk: Buffer) => metrics.bytes.inc({ direction: 'out' }, chunk.length)).pause()
    return reply
      .code(from > 0 ? 206 : 200)
      .headers({ 'content-length': object.size, 'content-type': findContentType(key) })
      .send(object.bytes)
  })
}

const Age = {
  type: 'object',
  required: ['unchanged_for'],
  properties: { unchanged_for: { type: 'integer', minimum: 0 } },
}

async function* renderLines(keys: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const key of keys) if (isObjectKey(key)) yield `${key}\n`
}

/**
 * GET /files?unchanged_for=SECONDS. Streams the keys of all files that were stored at least SECONDS ago, one
 * per line, in no particular order, with back-pressure. If a read fails, closes the connection before the end
 * of the list.
 */
export const listFiles = (app: FastifyInstance, { store, lifecycle }: Dependencies): void => {
  app.get<{ Querystring: { unchanged_for: number } }>(
    '/files',
    { schema: { querystring: Age }, exposeHeadRoute: false },
    async ({ query }, reply) => {
      const before = new Date(Date.now() - query.unchanged_for * 1000)
      // Ends the list when the service stops, because a list of millions of keys would outlast the drain.
      const signal = AbortSignal.any([createCloseSignal(reply), lifecycle.signal])
      const keys = store.list({ before, signal })
      return reply.type('text/plain; charset=utf-8').send(Readable.from(renderLines(keys)))
    },
  )
}
