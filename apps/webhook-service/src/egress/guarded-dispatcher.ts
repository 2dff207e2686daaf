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

// Shorter than the idle time of common servers. A server's own keep-alive time is used, less a second.
const IDLE_MS = 1000
const IDLE_AT_MOST_MS = 60_000

/**
 * An HTTP client that connects, by `dial`, only to addresses that the guard has allowed. `connectMs` limits connecting, and then the
 * TLS handshake.
 * A request that failed because the server closed a reused connection is sent once more, on a new one.
 */
export const createGuardedDispatcher = (
  options: Lookup & { connectMs: number; dial?: Dial | undefined },
): Dispatcher => {
  const { connectMs, dial } = options
  const shakeHands = promisify(buildConnector({ timeout: connectMs, allowH2: false }))

  const open = async (target: buildConnector.Options) => {
    const { host, allowed } = await findAddresses(target.hostname, options)
    if (allowed.length === 0)
      throw Object.assign(new Error(`webhooks may not be sent to ${host}`), { code: 'LEADWIRE_BLOCKED' })
    const isTls = target.protocol === 'https:'
    const port = Number(target.port || (isTls ? 443 : 80))
    const socket = await connectToFirst(allowed, { port, timeoutMs: connectMs, dial })
    return isTls ? (await shakeHands({ ...target, hostname: host, httpSocket: socket }))! : socket
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
  const agent = new Agent({ keepAliveTimeout: IDLE_MS, keepAliveMaxTimeout: IDLE_AT_MOST_MS, connect })
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
