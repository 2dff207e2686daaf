import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const DRAIN_LIMIT_BYTES = 32 * 1024 * 1024
const DRAIN_LIMIT_MS = 10_000

const hasBody = (headers: IncomingHttpHeaders) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * An answer can come before its request was read to the end (a file that is too large, a missing token). Closing at
 * once would reset the connection under a client that is still sending, and the answer would be lost with it. So the
 * rest is read and thrown away, up to a bound, and then the connection is cut.
 */
export const drainUnreadBodies = (app: FastifyInstance): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { raw } = request
    if (!raw.complete && !raw.destroyed && hasBody(raw.headers)) drainRest(request, reply)
    done(null, payload)
  })
}

const drainRest = ({ raw }: FastifyRequest, reply: FastifyReply): void => {
  // With this header Node would close as soon as the answer is written.
  reply.removeHeader('connection')
  const { socket } = raw
  const start = socket.bytesRead
  raw.unpipe()
  raw.resume()
  const timer = setTimeout(() => raw.destroy(), DRAIN_LIMIT_MS).unref()
  const watch = () => {
    if (socket.bytesRead - start > DRAIN_LIMIT_BYTES) raw.destroy()
  }
  raw.on('data', watch)
  raw.once('close', () => clearTimeout(timer))
  raw.once('end', () => clearTimeout(timer))
}
