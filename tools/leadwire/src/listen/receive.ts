import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HandleArrival } from './handle-arrivals'

/** What receivers are advised to take. */
const MAX_BYTES = 8 * 1024 * 1024

/** A body; undefined when it is too large. */
const bodyOf = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size <= MAX_BYTES) chunks.push(chunk)
  }
  return size <= MAX_BYTES ? Buffer.concat(chunks) : undefined
}

const explain = (error: NodeJS.ErrnoException, port: number): Error => {
  const why = error.code === 'EADDRINUSE' ? 'another program has it' : error.message
  return new Error(`Port ${port} can't be listened on: ${why}. Choose another --port, or 0 for a free one.`)
}

/** A receiver on 127.0.0.1 that passes each POST to `handle` and answers with what comes of it. A free port when 0. */
export const startReceiver = async (port: number, handle: HandleArrival) => {
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const at = new Date()
    if (request.method !== 'POST') return void response.writeHead(405, { Allow: 'POST' }).end()
    const body = await bodyOf(request)
    if (!body) return void response.writeHead(413).end()
    const gone = new AbortController()
    response.once('close', () => gone.abort(new Error('the sender waited no longer')))
    const reply = await handle({ at, rawHeaders: request.rawHeaders, body }, gone.signal)
    response.writeHead(reply.status, { 'Content-Type': reply.contentType ?? 'text/plain' }).end(reply.body)
  }
  const server = createServer((request, response) => {
    // A sender that disconnected in the middle of its request has sent nothing that counts.
    receive(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explain(error, port)))
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () => {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
