import { randomUUID } from 'node:crypto'
import {
  FilesServiceDefinition,
  type UploadRequest,
  UploadResponse,
  uploadRequestParts,
} from '@leadwire/contracts'
import {
  clientStream,
  connectGrpc,
  connectHttp2,
  createGrpcServer,
  createLifecycle,
  createLogger,
  createMetrics,
  type Lifecycle,
} from '@leadwire/service-kit'
import type { ObjectStore } from '../store/object-store'
import { createFilesMetrics } from './files-metrics'
import { createFilesService } from './files-service'

export const MEBIBYTE = 1024 * 1024
export const ALL_FORMATS = ['jpeg', 'png', 'gif', 'svg', 'pdf', 'txt', 'xlsx', 'docx']

type CallLimits = Parameters<ReturnType<typeof clientStream>>[1]

/** A client as the gateway's is. */
const clientOf = (port: number, lifecycle: Lifecycle) => {
  const target = `127.0.0.1:${port}`
  const upload = clientStream({
    sessions: connectHttp2(target, lifecycle),
    path: `/${FilesServiceDefinition.fullName}/Upload`,
    encode: uploadRequestParts,
    decode: UploadResponse.decode,
  })
  return {
    ...connectGrpc(target, lifecycle, { longCalls: true }).client(FilesServiceDefinition, {
      deadlineMs: 600_000,
    }),
    upload: (messages: AsyncIterable<UploadMessage>, options: Partial<CallLimits> = {}) =>
      upload(messages as AsyncIterable<UploadRequest>, {
        deadline: 25_000,
        signal: new AbortController().signal,
        ...options,
      }),
  }
}

/** A FilesService on a free port over `store`, and a client of it. */
export const startFilesServer = async (store: ObjectStore) => {
  await store.prepare()
  const logger = createLogger({ service: `files-${randomUUID()}`, level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const metrics = createMetrics('files-service')
  const service = createFilesService({ store, logger, metrics: createFilesMetrics(metrics) })
  lifecycle.onStop('uploads', () => service.settled())
  const server = createGrpcServer({ logger, lifecycle, longCalls: true })
  server.add(FilesServiceDefinition, service.implementation)
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  const client = clientOf(port, lifecycle)
  return { client, metrics, port, stop: () => lifecycle.stop() }
}

export type FilesServer = Awaited<ReturnType<typeof startFilesServer>>

/** A message of an upload, or none. */
export type UploadMessage = Partial<UploadRequest>

export interface Sent {
  name: string
  chunks: Iterable<Buffer>
  keep?: boolean
  formats?: string[]
  maxBytes?: number
  collection?: string
  skipSha256?: boolean
}

/** The messages of an upload, as the gateway sends them. */
export const uploadMessages = function* (file: Sent): Generator<UploadMessage> {
  const { name, chunks, keep = true, formats = ALL_FORMATS, maxBytes = 10 * MEBIBYTE } = file
  const { collection = 'attachments', skipSha256 = false } = file
  yield { part: { $case: 'start', value: { collection, fileName: name, formats, maxBytes, skipSha256 } } }
  for (const chunk of chunks) yield { part: { $case: 'chunk', value: chunk } }
  yield { part: { $case: 'finish', value: { keep } } }
}

/** A client of the server at `port`, apart from all others. */
export const connectFiles = (port: number) => {
  const lifecycle = createLifecycle(createLogger({ service: 'client', level: 'silent' }))
  const client = clientOf(port, lifecycle)
  return { client, close: () => lifecycle.stop() }
}

export const streamOf = async function* <T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

/** The same chunk again and again until `size` bytes are sent. */
export const repeated = function* (chunk: Buffer, size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length))
}

/** What a download gave: the size it announced, and the bytes. */
export const downloaded = async (
  { client }: FilesServer,
  key: string,
): Promise<{ size: number; bytes: Buffer }> => {
  let size = -1
  const chunks: Uint8Array[] = []
  for await (const { part } of client.download({ key })) {
    if (part?.$case === 'size') size = part.value
    else if (part) chunks.push(part.value)
  }
  return { size, bytes: Buffer.concat(chunks) }
}
