import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { UploadedFile, UploadTerms } from '@leadwire/contracts'
import {
  createLifecycle,
  createLogger,
  createMetrics,
  readProblemError,
  ServiceError,
} from '@leadwire/service-kit'
import { objectStoreDirectory } from '@leadwire/test-kit'
import { buildFilesServer, type FilesServerOptions } from '../build-files-server'
import { createDirectoryStore } from '../store/directory-store'
import type { ObjectStore } from '../store/object-store'
import { createSpoolSpace } from './spool-space'

export const MEBIBYTE = 1024 * 1024
export const ALL_FORMATS = ['jpeg', 'png', 'gif', 'svg', 'pdf', 'txt', 'xlsx', 'docx']
export const TOKEN = 'a-token-for-the-specs'
/** A chunk of a text file. */
export const TEXT = Buffer.alloc(64 * 1024, 'All work and no play makes a dull file.\n')

export interface Sent extends Partial<UploadTerms> {
  name: string
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>
}

/**
 * Starts the server of files-service over `store` on a free port. Returns the server, and functions that call
 * its operations.
 */
export const startFilesServer = async (store: ObjectStore, options: Partial<FilesServerOptions> = {}) => {
  await store.prepare()
  const logger = createLogger({ service: `files-${randomUUID()}`, level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const metrics = createMetrics('files-service')
  const app = buildFilesServer({
    store,
    logger,
    lifecycle,
    tokens: [TOKEN],
    registry: metrics,
    space: createSpoolSpace(1024 * MEBIBYTE),
    ...options,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  lifecycle.onStop('http server', () => app.close())
  const { port } = app.server.address() as AddressInfo
  return { ...createClient(port), app, metrics, port, stop: () => lifecycle.stop() }
}

/** Starts the server over a directory store in a new folder. */
export const startFilesServerInFolder = async (options: Partial<FilesServerOptions> = {}) => {
  const { path: folder, remove: removeFolder } = await objectStoreDirectory()
  const server = await startFilesServer(createDirectoryStore(folder), options)
  return {
    ...server,
    folder,
    removeFolder,
    filesLeft: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()),
    /** Returns the number of uploads by outcome. */
    outcomes: async () => {
      const { values } = await server.metrics.getSingleMetric('files_uploads_total')!.get()
      return Object.fromEntries(values.map(({ labels, value }) => [labels['outcome'], value]))
    },
  }
}

export type FilesServerInFolder = Awaited<ReturnType<typeof startFilesServerInFolder>>
export type FilesServer = Awaited<ReturnType<typeof startFilesServer>>

export const renderUploadPath = (file: Omit<Sent, 'chunks'>): string => {
  const { name, ...rest } = file
  const terms = {
    collection: 'attachments',
    file_name: name,
    formats: ALL_FORMATS.join(),
    sha256: true,
    max_bytes: 10 * MEBIBYTE,
    ...rest,
  }
  return `/files?${new URLSearchParams(terms as never)}`
}

const waitForResponse = (request: ClientRequest) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })

/** Waits for a successful response. If the response is a problem document, throws its ServiceError. */
const waitForSuccess = async (request: ClientRequest): Promise<IncomingMessage> => {
  const response = await waitForResponse(request)
  if (response.statusCode! < 300) return response
  throw readProblemError(await text(response))
}

export const createClient = (port: number) => {
  const send = (method: string, path: string, signal?: AbortSignal) =>
    httpRequest({
      host: '127.0.0.1',
      port,
      method,
      path,
      // Opens a new connection for each request, as the gateway does. With the header `keep-alive`, the
      // client closes the connection, not the server.
      agent: false,
      headers: { authorization: `Bearer ${TOKEN}`, connection: 'keep-alive' },
      ...(signal && { signal }),
    })
  return {
    /** Sends a request. Returns the status, the content type and the body of the response. */
    ask: async (method: string, path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
      const type = response.headers.get('content-type')
      return { status: response.status, type, body: await response.text() }
    },
    upload: async ({ chunks, ...file }: Sent, signal?: AbortSignal): Promise<UploadedFile> => {
      const request = send('POST', renderUploadPath(file), signal)
      const response = waitForSuccess(request)
      // Ignores a failure to send, because the server may respond before it has read the whole file.
      pipeline(Readable.from(chunks), request).catch(() => undefined)
      return JSON.parse(await text(await response)) as UploadedFile
    },
    download: (key: string) => waitForSuccess(send('GET', `/files/${encodeURI(key)}`).end()),
    delete: async (key: string): Promise<void> => {
      const response = await waitForSuccess(send('DELETE', `/files/${encodeURI(key)}`).end())
      await buffer(response)
    },
  }
}

/**
 * Returns the validation errors of an upload, or an empty list if the upload succeeds. Rethrows other errors.
 */
export const listErrors = async (upload: Promise<unknown>): Promise<string[]> => {
  try {
    await upload
    return []
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid') return error.fieldErrors['file'] ?? []
    throw error
  }
}

/** Repeats a chunk until `size` bytes are yielded. */
export const repeated = function* (chunk: Buffer, size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length))
}

/** Downloads a file. Returns the size and the type from the response's headers, and the bytes. */
export const downloadWhole = async ({ download }: FilesServer, key: string) => {
  const response = await download(key)
  const { 'content-length': size, 'content-type': type } = response.headers
  return { size: Number(size), type, bytes: await buffer(response) }
}
