import type { OutgoingHttpHeaders } from 'node:http2'

// A byte that says "not compressed" and the message's length (gRPC over HTTP/2: Length-Prefixed-Message).
export const PREFIX_BYTES = 5

/** What goes before a message of so many bytes. */
export const prefixOf = (length: number): Buffer => {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(length, 1)
  return prefix
}

/** The header of a call; `timeoutMs` is how long the server may take for all of it. */
export const callHeaders = (path: string, timeoutMs?: number): OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/grpc',
  te: 'trailers',
  ...(timeoutMs !== undefined && { 'grpc-timeout': `${timeoutMs}m` }),
})

/** Takes a stream's bytes as they come and tells each whole message. Those of one piece are not copied. */
export const createMessageReader = (onMessage: (message: Buffer) => void): ((part: Buffer) => void) => {
  let parts: Buffer[] = []
  let received = 0
  let expected = PREFIX_BYTES
  const next = (rest: Buffer) => {
    parts = rest.length > 0 ? [rest] : []
    received = rest.length
    expected = PREFIX_BYTES
  }
  return (part) => {
    parts.push(part)
    received += part.length
    while (received >= expected) {
      const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts, received)
      parts = [whole]
      const end = PREFIX_BYTES + whole.readUInt32BE(1)
      if (received < end) {
        expected = end
        return
      }
      next(whole.subarray(end))
      onMessage(whole.subarray(PREFIX_BYTES, end))
    }
  }
}
