import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { ADDRESS_LIMIT_MS, ServiceError, type Tls } from '@leadwire/service-kit'
import { Client, type Dispatcher, errors } from 'undici'

export type HttpRequest = Omit<Dispatcher.RequestOptions, 'origin' | 'body'> & { body?: Readable }

// undici destroys a stream that is the body of a request which could not connect, and then it could not be sent
// elsewhere. An iterator it only leaves.
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
  // What is no failure of the network, or of TLS, is the body's own, which broke off.
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
  /** The name that it was found by, which its certificate is for. */
  name: string | undefined
}

/**
 * Every address behind the URLs. Names are looked up anew each time: the copies behind one come and go, and a request is a
 * whole file, beside which a look-up is nothing.
 */
const addressesOf = async (urls: readonly URL[]): Promise<Address[]> => {
  const found = await Promise.allSettled(
    urls.map(async (url) => {
      const hostname = url.hostname.replace(/^\[|\]$/g, '')
      return (await lookup(hostname, { all: true })).map(({ address, family }) => {
        const host = family === 6 ? `[${address}]` : address
        const port = url.port || (url.protocol === 'https:' ? '443' : '80')
        return {
          origin: new URL(`${url.protocol}//${host}:${port}`),
          name: isIP(hostname) ? undefined : hostname,
        }
      })
    }),
  )
  const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  if (addresses.length > 0) return addresses
  throw unavailable(found.find((one) => one.status === 'rejected')?.reason)
}

/**
 * Requests to the copies of a service, each in its turn; a copy that does not take one is passed over. Each request has a
 * connection of its own: on one that is kept, a copy that drains could close under bytes which can't be sent again.
 */
export const createRoundRobin = ({
  urls,
  idleMs,
  tls,
}: {
  urls: readonly URL[]
  idleMs: number
  tls?: Tls | undefined
}) => {
  let turn = 0

  const withClient = async <T>(
    { origin, name }: Address,
    work: (client: Client) => Promise<T>,
  ): Promise<T> => {
    const client = new Client(origin, {
      connect: { timeout: ADDRESS_LIMIT_MS, ...(name && { servername: name }), ...tls?.current() },
      // Both count from the last byte that went or came.
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
    /**
     * Sends what may be done twice without harm, or what has a body: that is sent once. Fails with a ServiceError when no
     * answer comes, and with the body's own error when that breaks off.
     */
    send: async ({ body, ...request }: HttpRequest): Promise<Dispatcher.ResponseData> => {
      let bodyIsSent = false
      const sendTo = async (client: Client): Promise<Dispatcher.ResponseData> => {
        if (!body) return client.request(request)
        // A connection that only the kernel has accepted is reset when a copy stops listening, and what was sent of the
        // body would be lost. Where a request was answered a process has accepted it.
        const alive = await client.request({ ...request, method: 'GET', path: '/healthz' })
        await alive.body.dump()
        bodyIsSent = true
        // Its types leave out what its documentation names: iterables.
        return client.request({ ...request, body: chunksOf(body) as never })
      }

      const addresses = await addressesOf(urls)
      turn += 1
      const first = turn % addresses.length
      let failure: unknown
      for (const address of [...addresses.slice(first), ...addresses.slice(0, first)]) {
        try {
          return await withClient(address, sendTo)
        } catch (error) {
          failure = failureOf(error)
          if (!isUnavailable(failure) || (bodyIsSent && !couldNotConnect(error))) throw failure
          bodyIsSent = false
        }
      }
      throw failure
    },
    /** The same request to every copy at once: the first sound answer counts. Rejects when there is none. */
    sendToAny: async (request: HttpRequest): Promise<void> => {
      const addresses = await addressesOf(urls)
      const ask = (address: Address) =>
        withClient(address, async (client) => {
          const { statusCode, body } = await client.request(request)
          await body.dump()
          if (statusCode !== 200) throw new Error(`${address.origin.host} answered ${statusCode}`)
        })
      await Promise.any(addresses.map(ask))
    },
  }
}
