import { promisify } from 'node:util'
import { Agent, buildConnector, Client, type Dispatcher } from 'undici'
import {
  type ConnectionError,
  connectToFirst,
  type Dial,
  findAddresses,
  type Lookup,
  watchConnection,
} from './connect'
import { knownAddresses } from './resolve-host'

/**
 * How long an idle connection is kept. Common servers keep idle connections longer, so they rarely close a
 * connection that is about to be reused.
 */
const IDLE_MS = 1000
/** The maximum time that an idle connection is kept if the server states its own keep-alive time. */
const MAX_IDLE_MS = 60_000

/**
 * Creates an HTTP client that connects only to IP addresses that the guard allows. The client opens
 * connections with `dial`. `connectMs` limits the time to connect, and separately the time of the TLS
 * handshake. If a request fails because the server has closed a reused connection, the client sends the
 * request once more on a new connection.
 */
export const createGuardedDispatcher = (
  options: Lookup & { connectMs: number; dial?: Dial | undefined },
): Dispatcher => {
  const { connectMs, dial } = options
  const shakeHands = promisify(buildConnector({ timeout: connectMs, allowH2: false }))

  const open = async (target: buildConnector.Options) => {
    const { host, allowed } = await findAddresses(target.hostname, options)
    const addresses = allowed.known.length > 0 ? allowed : knownAddresses(await allowed.later)
    if (addresses.known.length === 0)
      throw Object.assign(new Error(`webhooks may not be sent to ${host}`), { code: 'LEADWIRE_BLOCKED' })
    const isTls = target.protocol === 'https:'
    const port = Number(target.port || (isTls ? 443 : 80))
    const socket = await connectToFirst(addresses, { port, timeoutMs: connectMs, dial })
    if (!isTls) return socket
    const tlsSocket = await shakeHands({ ...target, hostname: host, httpSocket: socket })
    return tlsSocket!
  }
  const connect: buildConnector.connector = (target, callback) =>
    void open(target).then(
      (socket) => callback(null, watchConnection(socket)),
      (error) => callback(error, null),
    )

  const sendAgain = (request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
    const client = new Client(request.origin!, { connect, pipelining: 0 })
    client.dispatch(request, handler)
    return client.close()
  }
  const agent = new Agent({ keepAliveTimeout: IDLE_MS, keepAliveMaxTimeout: MAX_IDLE_MS, connect })
  return agent.compose(
    (dispatch) => (request, handler) =>
      dispatch(request, {
        ...handler,
        onResponseError: (controller, error: ConnectionError) => {
          if (error.isUnanswered && !agent.destroyed) void sendAgain(request, handler)
          else handler.onResponseError?.(controller, error)
        },
      }),
  )
}
