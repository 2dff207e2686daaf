import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

// RFC 8305, section 8.
const NEXT_AFTER_MS = 250
// Each may hold a socket until the timeout, and the owner of the name decides how many there are.
const MOST_ADDRESSES = 8

/**
 * Connects to the first of these addresses that accepts. Tries the next address after 250 ms, or when one fails, while earlier
 * attempts go on: Node ends them, and so fails on a slow receiver or a lost SYN, which the kernel repeats after 1 s. Rejects with the
 * error of the first address when all fail, and with ABORT_ERR after `timeoutMs`.
 */
export const connectToFirst = async (
  addresses: string[],
  { port, timeoutMs }: { port: number; timeoutMs: number },
): Promise<Socket> => {
  const signal = AbortSignal.timeout(timeoutMs)
  const sockets: Socket[] = []
  const attempts: Promise<Socket>[] = []
  let first: Socket | undefined
  try {
    for (const host of addresses.slice(0, MOST_ADDRESSES)) {
      const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 })
      const attempt = once(socket, 'connect', { signal }).then(() => socket)
      sockets.push(socket)
      attempts.push(attempt)
      const next = pause(NEXT_AFTER_MS, undefined, { ref: false })
      first = await Promise.race([Promise.any(attempts), attempt, next]).catch(() => undefined)
      if (first) return first
    }
    first = await Promise.any(attempts).catch(({ errors }) => {
      throw errors[0]
    })
    return first
  } finally {
    for (const socket of sockets) if (socket !== first) socket.destroy()
  }
}
