import type { Readable } from 'node:stream'
import type { UploadedFile, UploadTerms } from '@leadwire/contracts'
import {
  activeTraceparent,
  bearerOf,
  inSpan,
  ServiceError,
  SpanKind,
  serviceErrorOfProblem,
  type Tls,
} from '@leadwire/service-kit'
import type { Dispatcher } from 'undici'
import { createRoundRobin, type HttpRequest, unavailable } from './round-robin'

const DELETE_LIMIT_MS = 5000
const CHECK_LIMIT_MS = 800

export interface OpenFile {
  size: number
  /** An early end is an error, never a short file. */
  bytes: Readable
}

const pathOf = (key: string) => `/files/${key.split('/').map(encodeURIComponent).join('/')}`

const textOf = ({ body }: Dispatcher.ResponseData): Promise<string> =>
  body.text().catch((cause: unknown) => {
    throw unavailable(cause)
  })

const failureOf = async (response: Dispatcher.ResponseData): Promise<ServiceError> => {
  const error = serviceErrorOfProblem(await textOf(response))
  // The gateway's token was refused, not the client's.
  return error.code === 'unauthenticated'
    ? new ServiceError('internal', 'files-service does not know our token.', { cause: error })
    : error
}

/** files-service over HTTP. Throws late when no byte moves for `idleMs`, and unavailable when no copy can be reached. */
export const connectFiles = (options: {
  urls: readonly URL[]
  tokens: readonly string[]
  tls?: Tls | undefined
  idleMs: number
}) => {
  const copies = createRoundRobin(options)
  const authorization = bearerOf(options.tokens)
  const headers = authorization === undefined ? {} : { authorization }

  const send = (request: HttpRequest): Promise<Dispatcher.ResponseData> =>
    inSpan(`${request.method} files-service`, { kind: SpanKind.CLIENT }, async () => {
      const traceparent = activeTraceparent()
      const response = await copies.send({
        ...request,
        headers: { ...headers, ...request.headers, ...(traceparent && { traceparent }) },
      })
      if (response.statusCode >= 300) throw await failureOf(response)
      return response
    })

  return {
    /** Streams the bytes of a file. Throws too_large, or invalid, as soon as files-service refuses them. */
    upload: async (terms: UploadTerms, bytes: Readable, signal: AbortSignal): Promise<UploadedFile> => {
      const path = `/files?${new URLSearchParams({ ...terms } as never)}`
      try {
        const answer = await send({ method: 'POST', path, body: bytes, signal })
        return JSON.parse(await textOf(answer)) as UploadedFile
      } finally {
        bytes.destroy()
      }
    },
    /** Opens a stored file from a byte on. The caller reads or destroys it. Throws not_found. */
    download: async (key: string, from = 0): Promise<OpenFile> => {
      const range = from > 0 ? { headers: { range: `bytes=${from}-` } } : {}
      const { headers: answered, body } = await send({ method: 'GET', path: pathOf(key), ...range })
      return { size: Number(answered['content-length']), bytes: body }
    },
    delete: async (key: string): Promise<void> => {
      await textOf(await send({ method: 'DELETE', path: pathOf(key), headersTimeout: DELETE_LIMIT_MS }))
    },
    /** Rejects while no copy is ready. */
    check: () =>
      copies.sendToAny({ method: 'GET', path: '/readyz', signal: AbortSignal.timeout(CHECK_LIMIT_MS) }),
  }
}
