import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { createSealer } from '@leadwire/service-kit'
import type { Dispatcher } from 'undici'
import { dialThroughProxy } from '../../egress/dial-through-proxy'
import { createEgressGuard } from '../../egress/egress-guard'
import { createGuardedDispatcher } from '../../egress/guarded-dispatcher'
import { createResolver, knownAddresses, limitResolution } from '../../egress/resolve-host'
import { sealSecrets } from '../../endpoints/secrets/sealed-secrets'
import { makeAttempt } from './make-attempt'

/** Returns the IP addresses of a host. */
export type Resolve = (host: string) => Promise<string[]>

interface AttemptOptions {
  allow?: string[]
  resolve?: Resolve
  servers?: string[]
  hostsFile?: string
  timeoutMs?: number
  proxy?: string
}

// Long enough that only an attempt that hangs times out.
const AMPLE_MS = 60_000

const sealer = createSealer([Buffer.alloc(32, 7)])
const { sealed: sealedSecrets } = sealSecrets(sealer, 1, {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  oldSecrets: [],
})

const dispatchers: Dispatcher[] = []
const servers: { server: Server; sockets: Set<Socket> }[] = []

/**
 * Creates a function that makes attempts with shared connections. The function may be called with a shorter
 * timeout for an attempt on a connection that is already open.
 */
export const attempter = ({
  allow = ['127.0.0.0/8'],
  resolve,
  servers,
  hostsFile,
  timeoutMs = AMPLE_MS,
  proxy,
}: AttemptOptions = {}) => {
  const dispatcher = createGuardedDispatcher({
    guard: createEgressGuard(allow),
    connectMs: timeoutMs,
    dial: proxy === undefined ? undefined : dialThroughProxy(() => new URL(proxy)),
    resolve: resolve
      ? async (host) => knownAddresses(await resolve(host))
      : createResolver({ limitMs: limitResolution(timeoutMs), servers, hostsFile }),
  })
  dispatchers.push(dispatcher)
  return (url: string, attemptMs = timeoutMs) =>
    makeAttempt(
      {
        url,
        accountId: 1,
        sealedSecrets,
        eventId: '8f14e45f-ceea-467f-a9c5-3c1f4d2b6a10',
        accountKey: 'the-key',
        sequence: 12,
        leadVersion: 3,
        body: Buffer.from('{"data":{}}'),
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
      {
        dispatcher,
        sealer,
        timeoutMs: attemptMs,
        clock: { now: () => new Date() },
        isProxied: proxy !== undefined,
      },
    )
}

export const attemptAt = (url: string, options?: AttemptOptions) => attempter(options)(url)

/** Starts a TCP server whose responses a test writes byte by byte. */
export const rawServer = async (onConnection: (socket: Socket) => void): Promise<string> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  servers.push({ server, sockets })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

export const closeAll = async () => {
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.destroy()))
  for (const { server, sockets } of servers) {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}
