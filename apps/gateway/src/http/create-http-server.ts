import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The maximum number of requests of one connection that are handled at once. Needed because Node emits all
 * pipelined requests of a chunk at once: a chunk of 53 KB has 1,400 requests.
 */
const MAX_PIPELINED = 32
const WRITE_STALL_MS = 10_000
/**
 * Multiplies the stall limit of a connection with a single response, which holds little memory. The kernel
 * reports progress in steps of megabytes, so a client that reads 60 KB/s seems to stall for longer than 10 s.
 */
const SINGLE_RESPONSE_FACTOR = 3

/** The requests of one connection. */
interface Connection {
  /** How many requests are being handled. At most MAX_PIPELINED. */
  open: number
  /** Functions that start the requests beyond MAX_PIPELINED, in their order. */
  waiting: (() => void)[]
  /** Whether the stall limit of the single open response has already been multiplied. */
  isExtended: boolean
}

/**
 * Creates an HTTP server that a client cannot exhaust with one connection.
 *
 * - The server handles at most 32 pipelined requests of a connection at once. While further requests wait,
 *   the server stops reading from the connection.
 * - The server closes a connection whose client reads no byte of its responses for `writeStallMs`. The limit
 *   is three times as long if the connection has a single response. A client that reads slowly keeps its
 *   connection, and so does a client whose response is not ready yet.
 */
export const createHttpServer = (
  handle: RequestListener,
  { writeStallMs = WRITE_STALL_MS, ...options }: ServerOptions & { writeStallMs?: number | undefined },
): Server => {
  const connections = new WeakMap<Socket, Connection>()
  const server = createServer(options, limitPipelining(handle, connections))
  // Node counts the progress of a pending write as activity, so a time-out means that no byte has moved.
  server.setTimeout(writeStallMs, (socket) => {
    const connection = connections.get(socket)
    if (!connection) return
    if (socket.writableLength === 0) {
      // Because of this listener, Node itself no longer closes an idle kept-alive connection.
      if (connection.open === 0) socket.destroy()
      return
    }
    if (connection.open === 1 && !connection.isExtended) {
      connection.isExtended = true
      socket.setTimeout(writeStallMs * SINGLE_RESPONSE_FACTOR)
      return
    }
    socket.destroy()
  })
  return server
}

const limitPipelining =
  (handle: RequestListener, connections: WeakMap<Socket, Connection>): RequestListener =>
  (request, response) => {
    const { socket } = request
    const connection = connections.get(socket) ?? watchConnection(socket)
    connections.set(socket, connection)
    const start = () => {
      connection.open += 1
      response.once('close', () => {
        connection.open -= 1
        connection.isExtended = false
        startNext(socket, connection)
      })
      handle(request, response)
    }
    if (connection.open < MAX_PIPELINED) {
      start()
      return
    }
    connection.waiting.push(start)
    socket.pause()
  }

const watchConnection = (socket: Socket): Connection => {
  const connection: Connection = { open: 0, waiting: [], isExtended: false }
  // Node resumes the socket when a handler reads a body. Pausing the socket again is safe: a request waits
  // here only after the bodies of all earlier requests have arrived.
  socket.on('resume', () => {
    if (connection.waiting.length > 0) socket.pause()
  })
  return connection
}

const startNext = (socket: Socket, { waiting }: Connection): void => {
  if (socket.destroyed) return
  const start = waiting.shift()
  if (start) start()
  // Safe even if Node itself has paused the socket, because Node then pauses it again.
  if (waiting.length === 0) socket.resume()
}
