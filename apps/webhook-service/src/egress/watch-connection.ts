import type { Socket } from 'node:net'

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
