import { promises as dns } from 'node:dns'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { EgressGuard } from './egress-guard'

const noAddress = (host: string, cause: unknown) =>
  Object.assign(new Error(`${host} has no address`, { cause }), { code: 'LEADWIRE_DNS' })

/**
 * Every address of a host name. The system's resolver blocks one of its four threads while a name server is silent: it is used only for
 * what DNS does not know (the hosts file, search domains). Throws an error with the code LEADWIRE_DNS.
 */
const resolveHost = async (host: string): Promise<string[]> => {
  const answers = await Promise.allSettled([dns.resolve4(host), dns.resolve6(host)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length > 0) return addresses
  const [v4] = answers
  // The servers are silent: the system's resolver would wait for them again.
  if (v4.status === 'rejected' && ['ETIMEOUT', 'ECANCELLED'].includes(v4.reason.code))
    throw noAddress(host, v4.reason)
  try {
    return (await dns.lookup(host, { all: true })).map(({ address }) => address)
  } catch (cause) {
    throw noAddress(host, cause)
  }
}

export interface Lookup {
  guard: EgressGuard
  resolve?: typeof resolveHost
}

/** The addresses of a URL's host name, and those of them that the guard allows. Throws as `resolveHost` does. */
export const findAddresses = async (hostname: string, { guard, resolve = resolveHost }: Lookup) => {
  const host = hostname.replace(/^\[|\]$/g, '')
  // The URL parser has normalised an address already: it is not resolved.
  const found = isIP(host) ? [host] : await resolve(host)
  return { host, found, allowed: found.filter((address) => guard(host, address)) }
}

// RFC 8305, section 8.
const NEXT_AFTER_MS = 250
// Each may hold a socket until the timeout, and the owner of the name decides how many there are.
const MOST_ADDRESSES = 8

/** Connects to an address. Rejects, and leaves nothing open, when the signal is aborted. */
export type Dial = (target: { host: string; port: number }, signal: AbortSignal) => Promise<Socket>

const dialDirectly: Dial = async (target, signal) => {
  const socket = connect({ ...target, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 })
  try {
    await once(socket, 'connect', { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/**
 * Connects to the first of these addresses that accepts. Earlier attempts go on beside later ones: Node ends them, and so fails on a
 * slow receiver or a lost SYN (repeated after 1 s). Rejects with the first address's error, and with ABORT_ERR after `timeoutMs`.
 */
export const connectToFirst = async (
  addresses: string[],
  { port, timeoutMs, dial = dialDirectly }: { port: number; timeoutMs: number; dial?: Dial | undefined },
): Promise<Socket> => {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(), timeoutMs)
  const attempts: Promise<Socket>[] = []
  let first: Socket | undefined
  try {
    for (const host of addresses.slice(0, MOST_ADDRESSES)) {
      const attempt = dial({ host, port }, over.signal)
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
    clearTimeout(timer)
    over.abort()
    // One more may have connected at the same moment.
    for (const attempt of attempts)
      attempt.then((socket) => socket !== first && socket.destroy()).catch(() => undefined)
  }
}

/** The error that ended a connection, with what undici does not report. */
export interface ConnectionError extends Error {
  /** The connection had been used before, and no byte came after the last request. */
  isUnanswered?: boolean
  /** The status of a response that is malformed or incomplete after its first line. */
  status?: number
}

const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})\s/

/**
 * The status of a response, after informational ones. A 100 becomes a 102 in the bytes: undici closes the connection on a 100, which
 * clients ignore (RFC 9110, 15.2).
 */
const readStatus = (bytes: Buffer): number | undefined => {
  let start = 0
  for (;;) {
    const status = Number(STATUS_LINE.exec(bytes.toString('latin1', start, start + 13))?.[1])
    if (!(status < 200)) return status || undefined
    if (status === 100) bytes.write('102', start + 9)
    const end = bytes.indexOf('\r\n\r\n', start)
    if (end < 0) return undefined
    start = end + 4
  }
}

/** Watches the bytes of a connection, and makes the error that ends it a ConnectionError. */
export const watchConnection = (socket: Socket): Socket => {
  const { read, write } = socket
  let isReused = false
  let isAnswered = false
  let status: number | undefined
  socket.on('error', (error) =>
    Object.assign(error, { isUnanswered: isReused && !isAnswered, ...(status !== undefined && { status }) }),
  )
  return Object.assign(socket, {
    // undici doesn't pipeline: what is written after something was read is the next request.
    write: (...request: Parameters<typeof write>) => {
      isReused ||= isAnswered
      isAnswered = false
      status = undefined
      return write.apply(socket, request)
    },
    read: (size?: number) => {
      const bytes: Buffer | null = read.call(socket, size)
      if (bytes !== null) {
        isAnswered = true
        status ??= readStatus(bytes)
      }
      return bytes
    },
  })
}
