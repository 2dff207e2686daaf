import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

// Answers in this time end their connections one by one, so that none is closed under a request on its way here.
const MOVE_ON_MS = 500

/**
 * Takes no more connections, answers what comes on the open ones, and resolves when the last is gone.
 *
 * Node's own `close` also cuts idle connections at once, and with them the requests that clients were just sending;
 * that of the net server below it does not.
 */
export const drainHttp = async (server: Server): Promise<void> => {
  // Right behind the phase of the event loop in which connections are accepted: one that the kernel has taken and Node has
  // not would be reset.
  await new Promise(setImmediate)
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve())
  })
  await pause(MOVE_ON_MS)
  // A connection whose last answer began before the drain is idle only after it.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  await closed
  clearInterval(sweep)
}
