import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

// Responses end their connections meanwhile, so that none is closed while a request arrives.
const MOVE_ON_MS = 500

/**
 * Accepts no more connections, answers requests on open ones, and resolves when the last is gone. The HTTP server's own `close`
 * cuts idle connections at once, and with them requests that clients were just sending; the net server's does not.
 */
export const drainHttp = async (server: Server): Promise<void> => {
  // Right after the event loop has accepted connections: one that only the kernel has accepted would be reset.
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
