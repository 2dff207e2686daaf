import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { ADDRESS_LIMIT_MS, ServiceError, type Tls } from '@leadwire/service-kit'
import { Client, type Dispatcher, errors } from 'undici'

export type HttpRequest = Omit<Dispatcher.RequestOptions, 'origin' | 'body'> & { body?: Readable }

// When a request can't connect, undici destroys a stream that is its body, which then can't be sent elsewhere. It leaves an iterator
// alone.
async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  yield* body
}

export const unavailable = (cause: unknown): ServiceError =>
  new ServiceError('unavailable', 'The service is unavailable for a moment. Try again shortly.', { cause })

const couldNotConnect = (error: unknown): boolean =>
  error instanceof errors.ConnectTimeoutError || (error as NodeJS.ErrnoException).syscall === 'connect'

const failureOf = (error: unknown): unknown => {
  if (error instanceof errors.HeadersTimeoutError)
    return new ServiceError('late', 'The service did not answer in time.', { cause: error })
  // An error that is not of the network or of TLS is the body's own.
  return /^(E[A-Z]+|UND_ERR_.+|ERR_(SSL|TLS)_.+|.*CERT.*|UNABLE_TO_.+)$/.test(
    String((error as NodeJS.ErrnoException).code),
  )
    ? unavailable(error)
    : error
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'unavailable'

interface Address {
  origin: URL
  /** The name that its certificate is for. */
  name: string | undefined
}

/** Every address behind the URLs. Names are resolved for each request, because copies come and go. */
const addressesOf = async (urls: readonly URL[]): Promise<Address[]> => {
  const found = await Promise.allSettled(
    urls.map(async ({ protocol, hostname: given, port }) => {
      const hostname = given.replace(/^\[|\]$/g, '')
      return (await lookup(hostname, { all: true })).map(({ address, family }) => ({
        origin: new URL(`${protocol}//${family === 6 ? `[${address}]` : address}:${port}`),
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
export const createRoundRobin = (options: {
  urls: readonly URL[]
  idleMs: number
  tls?: Tls | undefined
}) => {
  const { urls, idleMs, tls } = options
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
          const mayRetry = isUnavailable(failure) && (!bodyIsSent || couldNotConnect(error))
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
