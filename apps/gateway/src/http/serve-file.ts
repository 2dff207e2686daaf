import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { OpenFile } from '../attachments/open-file'

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

/** Sends an open file; on HEAD only its size. */
export const sendFile = (request: FastifyRequest, reply: FastifyReply, file: OpenFile): FastifyReply => {
  reply.header('content-length', file.size)
  if (request.method !== 'HEAD') return reply.send(file.bytes())
  file.close()
  return reply.send()
}
