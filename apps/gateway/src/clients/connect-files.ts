import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import type { UploadedFile, UploadTerms } from '@leadwire/contracts'
import {
  ADDRESS_LIMIT_MS,
  activeTraceparent,
  inSpan,
  type Live,
  readProblemError,
  renderBearer,
  ServiceError,
  SpanKind,
  type Tls,
} from '@leadwire/service-kit'
import { Client, type Dispatcher, errors } from 'undici'

interface FilesServiceOptions {
  urls: readonly URL[]
  /** How long a connection may be idle, in milliseconds. */
  idleMs: number
  tls?: Tls | undefined
}

type HttpRequest = Omit<Dispatcher.RequestOptions, 'origin' | 'body'> & { body?: Readable }

// Wraps the stream in an iterator. If a connection fails, undici destroys a body that is a stream, but not an
// iterator. The gateway can then still send the stream to another copy of files-service.
async function* iterateChunks(body: Readable): AsyncGenerator<Buffer> {
  yield* body
}

const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('unavailable', 'The service is unavailable for a moment. Try again shortly.', { cause })

const couldNotConnect = (error: unknown): boolean =>
  error instanceof errors.ConnectTimeoutError || (error as NodeJS.ErrnoException).syscall === 'connect'

const NETWORK_ERROR = /^(E[A-Z]+|UND_ERR_.+|ERR_(SSL|TLS)_.+|.*CERT.*|UNABLE_TO_.+)$/

const toServiceError = (error: unknown): unknown => {
  if (error instanceof errors.HeadersTimeoutError) return ServiceError.timedOut(error)
  // If the code is not that of a network error, the error comes from the body's stream and stays unchanged.
  return NETWORK_ERROR.test(String((error as NodeJS.ErrnoException).code)) ? unavailable(error) : error
}

type Address = Awaited<ReturnType<typeof resolveAddresses>>[number]

/**
 * Returns all IP addresses of the hosts in the URLs. Resolves the host names again for each request, because
 * copies start and stop.
 */
const resolveAddresses = async (urls: readonly URL[]) => {
  const found = await Promise.allSettled(
    urls.map(async ({ protocol, hostname: given, port }) => {
      const hostname = given.replace(/^\[|\]$/g, '')
      return (await lookup(hostname, { all: true })).map(({ address, family }) => ({
        origin: new URL(`${protocol}//${family === 6 ? `[${address}]` : address}:${port}`),
        // The host name that the certificate of the copy must have. Undefined if the URL has an IP address.
        name: isIP(hostname) ? undefined : hostname,
      }))
    }),
  )
  const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  if (addresses.length > 0) return addresses
  throw unavailable(found.find((one) => one.status === 'rejected')?.reason)
}

/**
 * Sends requests to the copies of a service in rotation, and skips a copy that refuses the connection. Each
 * request has its own connection. A draining copy could close a reused connection in the middle of a body,
 * and a body cannot be sent again.
 */
const createRoundRobin = ({ urls, idleMs, tls }: FilesServiceOptions) => {
  let next = 0

  const withClient = async <T>(
    { origin, name }: Address,
    work: (client: Client) => Promise<T>,
  ): Promise<T> => {
    const client = new Client(origin, {
      connect: { timeout: ADDRESS_LIMIT_MS, ...(name && { servername: name }), ...tls?.current() },
      // Both limits count from the last byte in either direction.
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    })
    try {
      return await work(client)
    } finally {
      // Closes the connection when the response is complete.
      client.close().catch(() => undefined)
    }
  }

  return {
    /**
     * Sends a request. Throws a ServiceError, or the error of the body's stream. If copies are unavailable,
     * may send a request without a body to several copies, one after the other.
     */
    send: async ({ body, ...request }: HttpRequest): Promise<Dispatcher.ResponseData> => {
      let bodyIsSent = false
      const sendTo = async (client: Client): Promise<Dispatcher.ResponseData> => {
        if (!body) return client.request(request)
        // Sends a GET request first. When a copy stops listening, the kernel resets the connections that the
        // copy has not accepted, and a body on such a connection would be lost. The response to the GET
        // request shows that the copy has accepted the connection.
        const alive = await client.request({ ...request, method: 'GET', path: '/healthz' })
        await alive.body.dump()
        bodyIsSent = true
        // undici's documentation allows iterables, but its types omit them.
        return client.request({ ...request, body: iterateChunks(body) as never })
      }

      const addresses = await resolveAddresses(urls)
      next += 1
      const first = next
      for (let tried = 1; ; tried += 1) {
        try {
          return await withClient(addresses[(first + tried) % addresses.length]!, sendTo)
        } catch (error) {
          const failure = toServiceError(error)
          const isUnavailable = failure instanceof ServiceError && failure.code === 'unavailable'
          const mayRetry = isUnavailable && (!bodyIsSent || couldNotConnect(error))
          if (!mayRetry || tried === addresses.length) throw failure
          bodyIsSent = false
        }
      }
    },
    /** Sends the request to all copies at once. Rejects if no copy responds with 200. */
    sendToAny: async (request: HttpRequest): Promise<void> => {
      const ask = (address: Address) =>
        withClient(address, async (client) => {
          const { statusCode, body } = await client.request(request)
          await body.dump()
          if (statusCode !== 200) throw new Error(`${address.origin.host} answered ${statusCode}`)
        })
      await Promise.any((await resolveAddresses(urls)).map(ask))
    },
  }
}

const DELETE_LIMIT_MS = 5000
const CHECK_LIMIT_MS = 800

export interface OpenFile {
  size: number
  /** A stream that ends early emits an error, so that no reader takes a truncated file for a whole file. */
  bytes: Readable
}

const buildPath = (key: string) => `/files/${key.split('/').map(encodeURIComponent).join('/')}`

const readText = ({ body }: Dispatcher.ResponseData): Promise<string> =>
  body.text().catch((cause: unknown) => {
    throw unavailable(cause)
  })

const readRefusal = async (response: Dispatcher.ResponseData): Promise<ServiceError> => {
  const error = readProblemError(await readText(response))
  // The refused token is the gateway's service token, not the client's token. The client therefore gets an
  // internal error instead of a 401.
  return error.code === 'unauthenticated'
    ? new ServiceError('internal', 'files-service refused the service token of the gateway.', {
        cause: error,
      })
    : error
}

/**
 * Connects to files-service over HTTP. A call throws `late` if no byte moves for `idleMs` before its response
 * begins. For a deletion, this limit is 5 s. A call throws `unavailable` if no copy can be reached.
 */
export const connectFiles = (options: FilesServiceOptions & { tokens: Live<readonly string[]> }) => {
  const copies = createRoundRobin(options)
  const send = (request: HttpRequest): Promise<Dispatcher.ResponseData> =>
    inSpan(`${request.method} files-service`, { kind: SpanKind.CLIENT }, async () => {
      const traceparent = activeTraceparent()
      const authorization = renderBearer(options.tokens)
      const response = await copies.send({
        ...request,
        headers: {
          ...request.headers,
          ...(authorization && { authorization }),
          ...(traceparent && { traceparent }),
        },
      })
      if (response.statusCode >= 300) throw await readRefusal(response)
      return response
    })

  return {
    /**
     * Streams a file to files-service. Throws `too_large` or `invalid` as soon as files-service refuses the
     * file.
     */
    upload: async (terms: UploadTerms, bytes: Readable, signal: AbortSignal): Promise<UploadedFile> => {
      const path = `/files?${new URLSearchParams({ ...terms } as never)}`
      try {
        const answer = await send({ method: 'POST', path, body: bytes, signal })
        return JSON.parse(await readText(answer)) as UploadedFile
      } finally {
        bytes.destroy()
      }
    },
    /**
     * Opens a stored file, starting at byte `from`. The caller must read or destroy the stream. Throws
     * `not_found` if the file does not exist.
     */
    download: async (key: string, from = 0): Promise<OpenFile> => {
      const range = from > 0 ? { headers: { range: `bytes=${from}-` } } : {}
      const { headers: answered, body } = await send({ method: 'GET', path: buildPath(key), ...range })
      return { size: Number(answered['content-length']), bytes: body }
    },
    delete: async (key: string): Promise<void> => {
      await readText(await send({ method: 'DELETE', path: buildPath(key), headersTimeout: DELETE_LIMIT_MS }))
    },
    /** Rejects while no copy is ready. */
    check: () =>
      copies.sendToAny({ method: 'GET', path: '/readyz', signal: AbortSignal.timeout(CHECK_LIMIT_MS) }),
  }
}
