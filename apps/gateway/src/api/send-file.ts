import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { OpenFile } from '../clients/connect-files'

/** Makes GET and HEAD of an address that answers with a file: HEAD opens it to tell its size, and reads no byte. */
export const serveFile = (
  app: FastifyInstance,
  url: string,
  options: RouteShorthandOptions,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void => {
  // Fastify's own HEAD would read the file to its end and throw it away.
  app.get(url, { ...options, exposeHeadRoute: false }, handler)
  app.head(url, { ...options, schema: { hide: true } }, handler)
}

/** Lets go of a file whose bytes are not wanted. */
export const closeFile = ({ bytes }: OpenFile): void => {
  // That it was not read to its end is told as an error.
  bytes.on('error', () => undefined).destroy()
}

/** Sends an open file; on HEAD only its size. A client that takes nothing for `idleMs` is cut off. */
export const sendFile = (
  request: FastifyRequest,
  reply: FastifyReply,
  { file, idleMs }: { file: OpenFile; idleMs: number },
): FastifyReply => {
  reply.header('content-length', file.size)
  if (request.method !== 'HEAD') {
    reply.raw.setTimeout(idleMs, () => request.raw.destroy())
    return reply.send(file.bytes)
  }
  closeFile(file)
  return reply.send()
}
