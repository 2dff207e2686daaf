import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { EgressGuard } from './egress-guard'
import { type Addresses, knownAddresses, type ResolveHost } from './resolve-host'

export interface Lookup {
  guard: EgressGuard
  resolve: ResolveHost
}

/**
 * The host of a URL, and the IP addresses that the guard allows. `found` has all IP addresses that were known
 * when the host was resolved.
 */
export interface FoundAddresses {
  host: string
  found: string[]
  allowed: Addresses
}

/** Finds the IP addresses of a URL's host. Throws a ResolveError. */
export const findAddresses = async (
  hostname: string,
  { guard, resolve }: Lookup,
): Promise<FoundAddresses> => {
  const host = hostname.replace(/^\[|\]$/g, '')
  // A host that is an IP address needs no resolution, because the URL parser has normalised the address.
  const { known, later } = isIP(host) ? knownAddresses([host]) : await resolve(host)
  const keepAllowed = (addresses: string[]) => addresses.filter((address) => guard(host, address))
  return { host, found: known, allowed: { known: keepAllowed(known), later: later.then(keepAllowed) } }
}

/** The time after which the next IP address is tried (RFC 8305, section 8). */
const NEXT_AFTER_MS = 250
/**
 * The maximum number of IP addresses that are tried. The owner of the host name decides how many addresses
 * the name has. Without this limit, each of these addresses could occupy a socket until the timeout.
 */
const MAX_ADDRESSES = 8

/** Connects to an IP address. Rejects when the signal aborts, and then leaves no socket open. */
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
 * Connects to the first of these addresses that accepts a connection. Tries the next address after 250 ms,
 * and continues the earlier tries. Node.js itself would end the earlier tries, and would then fail if a
 * receiver is slow or if a SYN packet is lost, because TCP repeats a lost packet only after 1 s. Rejects with
 * the error of the first address, or with ABORT_ERR after `timeoutMs`.
 */
export const connectToFirst = async (
  { known, later }: Addresses,
  { port, timeoutMs, dial = dialDirectly }: { port: number; timeoutMs: number; dial?: Dial | undefined },
): Promise<Socket> => {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(), timeoutMs)
  const attempts: Promise<Socket>[] = []
  let first: Socket | undefined
  /**
   * Dials each address. Resolves with the first connection, or with undefined after the last address was
   * dialled.
   */
  const dialEach = async (hosts: string[]): Promise<Socket | undefined> => {
    for (const host of hosts.slice(0, MAX_ADDRESSES - attempts.length)) {
      const attempt = dial({ host, port }, over.signal)
      attempts.push(attempt)
      const next = pause(NEXT_AFTER_MS, undefined, { ref: false })
      const socket = await Promise.race([Promise.any(attempts), attempt, next]).catch(() => undefined)
      if (socket) return socket
    }
    return undefined
  }
  try {
    first = await dialEach(known)
    if (first) return first
    const dialingLater = later.then(dialEach)
    const connecting = Promise.any(attempts).catch(() => dialingLater)
    first = await Promise.race([connecting, dialingLater])
    if (first) return first
    first = await Promise.any(attempts).catch(({ errors }) => {
      throw errors[0]
    })
    return first
  } finally {
    clearTimeout(timer)
    over.abort()
    // Closes the connection to any other address, because two addresses may connect at the same moment.
    for (const attempt of attempts)
      attempt.then((socket) => socket !== first && socket.destroy()).catch(() => undefined)
  }
}

/** The error that ended a connection, with facts that undici does not report. */
export interface ConnectionError extends Error {
  /** Whether the connection was reused, and no byte of a response to the last request has arrived. */
  isUnanswered?: boolean
  /** The status of the response, if its first line arrived before the error. */
  status?: number
}

const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})\s/

/**
 * Returns the status of a response and skips informational responses. Changes the status 100 to 102 in the
 * bytes, because undici closes the connection after a 100, although clients must ignore a 100 (RFC 9110,
 * 15.2).
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

/** Watches the bytes of a connection. The error that ends the connection becomes a ConnectionError. */
export const watchConnection = (socket: Socket): Socket => {
  const { read, write } = socket
  let isReused = false
  let isAnswered = false
  let status: number | undefined
  let firstCode: string | undefined
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // Keeps the first code. After a TLS alert, undici destroys the socket with a second error.
    firstCode ??= error.code
    const seen = { code: firstCode, isUnanswered: isReused && !isAnswered }
    Object.assign(error, seen, status !== undefined && { status })
  })
  return Object.assign(socket, {
    // undici does not pipeline, so a write after a read starts the next request.
    write: (...request: Parameters<typeof write>) => {
      isReused ||= isAnswered
      isAnswered = false
      status = undefined
      return write.apply(socket, request)
    },
    read: (size?: number) => {
      const bytes: Buffer | null = read.call(socket, size)
      if (bytes === null) return null
      const first = status === undefined ? readStatus(bytes) : undefined
      // With this 408, the receiver only closes an idle connection. The receiver has not read the request
      // that is being written, so the request counts as unanswered and is sent again.
      if (first === 408 && isReused && !isAnswered) {
        socket.destroy(Object.assign(new Error('the idle connection timed out'), { code: 'ECONNRESET' }))
        return null
      }
      isAnswered = true
      status ??= first
      return bytes
    },
  })
}
