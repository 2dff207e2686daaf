import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import type { UploadedFile, UploadTerms } from '@leadwire/contracts'
import {
  ADDRESS_LIMIT_MS,
  activeTraceparent,
  bearerOf,
  inSpan,
  type Live,
  ServiceError,
  SpanKind,
  serviceErrorOfProblem,
  type Tls,
} from '@leadwire/service-kit'
import { Client, type Dispatcher, errors } from 'undici'

interface FilesServiceOptions {
  urls: readonly URL[]
  /** How long no byte may move. */
  idleMs: number
  tls?: Tls | undefined
}

type HttpRequest = Omit<Dispatcher.RequestOptions, 'origin' | 'body'> & { body?: Readable }

// When a request can't connect, undici destroys a stream that is its body, which then can't be sent elsewhere. It leaves an iterator
// alone.
async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  yield* body
}

const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('unavailable', 'The service is unavailable for a moment. Try again shortly.', { cause })

const couldNotConnect = (error: unknown): boolean =>
  error instanceof errors.ConnectTimeoutError || (error as NodeJS.ErrnoException).syscall === 'connect'

const NETWORK_ERROR = /^(E[A-Z]+|UND_ERR_.+|ERR_(SSL|TLS)_.+|.*CERT.*|UNABLE_TO_.+)$/

const failureOf = (error: unknown): unknown => {
  if (error instanceof errors.HeadersTimeoutError) return ServiceError.timedOut(error)
  // Another error is the body's own.
  return NETWORK_ERROR.test(String((error as NodeJS.ErrnoException).code)) ? unavailable(error) : error
}

type Address = Awaited<ReturnType<typeof addressesOf>>[number]

/** Every address behind the URLs. Names are resolved for each request, because copies come and go. */
const addressesOf = async (urls: readonly URL[]) => {
  const found = await Promise.allSettled(
    urls.map(async ({ protocol, hostname: given, port }) => {
      const hostname = given.replace(/^\[|\]$/g, '')
      return (await lookup(hostname, { all: true })).map(({ address, family }) => ({
        origin: new URL(`${protocol}//${family === 6 ? `[${address}]` : address}:${port}`),
        // The name that its certificate is for.
        name: isIP(hostname) ? undefined : hostname,
      }))
    }),
  )
  const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  if (addresses.length > 0) return addresses
  throw unavailable(found.find((one) => one.status === 'rejected')?.reason)
}

/**
 * Sends requests to the copies of a service in rotation, and skips a copy that refuses the connection. Each request has its own
 * connection: a copy that drains could close a kept one under bytes that can't be sent again.
 */
const createRoundRobin = ({ urls, idleMs, tls }: FilesServiceOptions) => {
  let next = 0

  const withClient = async <T>(
    { origin, name }: Address,
    work: (client: Client) => Promise<T>,
  ): Promise<T> => {
    const client = new Client(origin, {
      connect: { timeout: ADDRESS_LIMIT_MS, ...(name && { servername: name }), ...tls?.current() },
      // Both count from the last byte in either direction.
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    })
    try {
      return await work(client)
    } finally {
      // Once the answer is complete.
      client.close().catch(() => undefined)
    }
  }

  return {
    /** Throws a ServiceError, or the body's own error. A request without a body may be sent twice. */
    send: async ({ body, ...request }: HttpRequest): Promise<Dispatcher.ResponseData> => {
      let bodyIsSent = false
      const sendTo = async (client: Client): Promise<Dispatcher.ResponseData> => {
        if (!body) return client.request(request)
        // When a copy stops listening, the kernel resets the connections that the process has not accepted, and what was sent of
        // the body would be lost. A response shows that the process has accepted this one.
        const alive = await client.request({ ...request, method: 'GET', path: '/healthz' })
        await alive.body.dump()
        bodyIsSent = true
        // undici's types omit iterables, which its documentation names.
        return client.request({ ...request, body: chunksOf(body) as never })
      }

      const addresses = await addressesOf(urls)
      next += 1
      const first = next
      for (let tried = 1; ; tried += 1) {
        try {
          return await withClient(addresses[(first + tried) % addresses.length]!, sendTo)
        } catch (error) {
          const failure = failureOf(error)
          const isUnavailable = failure instanceof ServiceError && failure.code === 'unavailable'
          const mayRetry = isUnavailable && (!bodyIsSent || couldNotConnect(error))
          if (!mayRetry || tried === addresses.length) throw failure
          bodyIsSent = false
        }
      }
    },
    /** Sends the request to all copies at once. Rejects when none answers 200. */
    sendToAny: async (request: HttpRequest): Promise<void> => {
      const ask = (address: Address) =>
        withClient(address, async (client) => {
          const { statusCode, body } = await client.request(request)
          await body.dump()
          if (statusCode !== 200) throw new Error(`${address.origin.host} answered ${statusCode}`)
        })
      await Promise.any((await addressesOf(urls)).map(ask))
    },
  }
}

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

const refusalOf = async (response: Dispatcher.ResponseData): Promise<ServiceError> => {
  const error = serviceErrorOfProblem(await textOf(response))
  // The gateway's token was refused, not the client's.
  return error.code === 'unauthenticated'
    ? new ServiceError('internal', 'files-service does not know our token.', { cause: error })
    : error
}

/** files-service over HTTP. Throws late when no byte moves for `idleMs`, and unavailable when no copy can be reached. */
export const connectFiles = (options: FilesServiceOptions & { tokens: Live<readonly string[]> }) => {
  const copies = createRoundRobin(options)
  const send = (request: HttpRequest): Promise<Dispatcher.ResponseData> =>
    inSpan(`${request.method} files-service`, { kind: SpanKind.CLIENT }, async () => {
      const traceparent = activeTraceparent()
      const authorization = bearerOf(options.tokens)
      const response = await copies.send({
        ...request,
        headers: {
          ...request.headers,
          ...(authorization && { authorization }),
          ...(traceparent && { traceparent }),
        },
      })
      if (response.statusCode >= 300) throw await refusalOf(response)
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
