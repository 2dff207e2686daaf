import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The maximum number of requests of one connection that are handled at once. This limit is needed because
 * Node emits all pipelined requests of a chunk at once, and a chunk of 53 KB can have 1,400 requests.
 */
const MAX_PIPELINED = 32
const WRITE_STALL_MS = 10_000
/**
 * Multiplies the stall limit for a single response, which holds little memory. The kernel reports progress in
 * steps of megabytes, so a client that reads 60 KB/s seems to stall for longer than 10 s.
 */
const SINGLE_RESPONSE_FACTOR = 3

/** The requests of one connection. */
interface Connection {
  /** How many requests are being handled. At most MAX_PIPELINED. */
  open: number
  /** Functions that start the requests beyond MAX_PIPELINED, in their order. */
  waiting: (() => void)[]
  /**
   * Whether the stall limit was multiplied because only one response is open. The limit is multiplied at most
   * once for each response.
   */
  isExtended: boolean
}

/**
 * Creates an HTTP server that a client cannot exhaust with one connection.
 *
 * - The server handles at most 32 pipelined requests of a connection at once. While further requests wait,
 *   the server stops reading from the connection.
 * - The server closes a connection whose client reads no byte of its responses for `writeStallMs`. If the
 *   connection has only one open response at that time, the server does not close it yet, but waits for
 *   three times `writeStallMs` more. A client that reads slowly keeps its connection, and so does a client
 *   whose response is not ready yet.
 */
export const createHttpServer = (
  handle: RequestListener,
  { writeStallMs = WRITE_STALL_MS, ...options }: ServerOptions & { writeStallMs?: number | undefined },
): Server => {
  const connections = new WeakMap<Socket, Connection>()
  const server = createServer(options, limitPipelining(handle, connections))
  // Node counts the progress of a pending write as activity, so a timeout means that no byte has moved.
  server.setTimeout(writeStallMs, (socket) => {
    const connection = connections.get(socket)
    if (!connection) return
    if (socket.writableLength === 0) {
      // Closes an idle kept-alive connection. Node itself no longer does so, because of this listener.
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
  // Node resumes the socket when a handler reads a body. Pauses the socket again. This is safe, because a
  // request waits only after the bodies of all earlier requests have arrived.
  socket.on('resume', () => {
    if (connection.waiting.length > 0) socket.pause()
  })
  return connection
}

const startNext = (socket: Socket, { waiting }: Connection): void => {
  if (socket.destroyed) return
  const start = waiting.shift()
  if (start) start()
  // This is safe even if Node itself has paused the socket, because Node then pauses the socket again.
  if (waiting.length === 0) socket.resume()
}
