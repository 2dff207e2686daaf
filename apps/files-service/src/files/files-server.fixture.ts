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
  ServiceError,
  serviceErrorOfProblem,
} from '@leadwire/service-kit'
import { objectStoreDirectory } from '@leadwire/test-kit'
import { buildFilesServer, type FilesServerOptions } from '../build-files-server'
import { createDirectoryStore } from '../store/directory-store'
import type { ObjectStore } from '../store/object-store'

export const MEBIBYTE = 1024 * 1024
export const ALL_FORMATS = ['jpeg', 'png', 'gif', 'svg', 'pdf', 'txt', 'xlsx', 'docx']
export const TOKEN = 'a-token-for-the-specs'
/** A chunk of a text file. */
export const TEXT = Buffer.alloc(64 * 1024, 'All work and no play makes a dull file.\n')

export interface Sent extends Partial<UploadTerms> {
  name: string
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>
}

/** The server of files-service on a free port over `store`, and its operations. */
export const startFilesServer = async (store: ObjectStore, options: Partial<FilesServerOptions> = {}) => {
  await store.prepare()
  const logger = createLogger({ service: `files-${randomUUID()}`, level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const metrics = createMetrics('files-service')
  const app = buildFilesServer({
    ...{ store, logger, lifecycle, tokens: [TOKEN], registry: metrics },
    ...options,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  lifecycle.onStop('http server', () => app.close())
  const { port } = app.server.address() as AddressInfo
  return { ...clientOf(port), app, metrics, port, stop: () => lifecycle.stop() }
}

/** The server over a folder of its own. */
export const startFilesServerInFolder = async () => {
  const { path: folder, remove: removeFolder } = await objectStoreDirectory()
  const server = await startFilesServer(createDirectoryStore(folder))
  return {
    ...server,
    folder,
    removeFolder,
    filesLeft: async () =>
      (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()),
    /** Counts of uploads by outcome. */
    outcomes: async () => {
      const { values } = await server.metrics.getSingleMetric('files_uploads_total')!.get()
      return Object.fromEntries(values.map(({ labels, value }) => [labels['outcome'], value]))
    },
  }
}

export type FilesServerInFolder = Awaited<ReturnType<typeof startFilesServerInFolder>>
export type FilesServer = Awaited<ReturnType<typeof startFilesServer>>

export const pathOf = (file: Omit<Sent, 'chunks'>): string => {
  const { name, ...rest } = file
  const terms = {
    ...{ collection: 'attachments', file_name: name, formats: ALL_FORMATS.join(), sha256: true },
    ...{ max_bytes: 10 * MEBIBYTE, ...rest },
  }
  return `/files?${new URLSearchParams(terms as never)}`
}

const answerTo = (request: ClientRequest) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })

/** The response to a request; a problem document as its ServiceError. */
const soundAnswer = async (request: ClientRequest): Promise<IncomingMessage> => {
  const answer = await answerTo(request)
  if (answer.statusCode! < 300) return answer
  throw serviceErrorOfProblem(await text(answer))
}

export const clientOf = (port: number) => {
  const send = (method: string, path: string, signal?: AbortSignal) =>
    httpRequest({
      ...{ host: '127.0.0.1', port, method, path },
      // A connection of its own, which the client closes, as the gateway does.
      agent: false,
      headers: { authorization: `Bearer ${TOKEN}`, connection: 'keep-alive' },
      ...(signal && { signal }),
    })
  return {
    /** Sends a request, and resolves with the status and the body. */
    ask: async (method: string, path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
      return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() }
    },
    upload: async ({ chunks, ...file }: Sent, signal?: AbortSignal): Promise<UploadedFile> => {
      const request = send('POST', pathOf(file), signal)
      const answer = soundAnswer(request)
      // The server may answer before it has read everything.
      pipeline(Readable.from(chunks), request).catch(() => undefined)
      return JSON.parse(await text(await answer)) as UploadedFile
    },
    download: (key: string) => soundAnswer(send('GET', `/files/${encodeURI(key)}`).end()),
    delete: async (key: string): Promise<void> => {
      const answer = await soundAnswer(send('DELETE', `/files/${encodeURI(key)}`).end())
      await buffer(answer)
    },
  }
}

/** Why a file is refused; empty when it is not. */
export const errorsIn = async (upload: Promise<unknown>): Promise<string[]> => {
  try {
    await upload
    return []
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid') return error.fieldErrors['file'] ?? []
    throw error
  }
}

/** The same chunk again and again until `size` bytes are sent. */
export const repeated = function* (chunk: Buffer, size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length))
}

/** A download: the headers about the file, and the bytes. */
export const downloaded = async ({ download }: FilesServer, key: string) => {
  const answer = await download(key)
  const { 'content-length': size, 'content-type': type } = answer.headers
  return { size: Number(size), type, bytes: await buffer(answer) }
}
