import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PROBLEM_TYPE, PROBLEMS, problem, problemJson } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { knownProblem } from './problem'

const LINGER_MS = 2000

const responses = new WeakMap<Socket, ServerResponse>()

/** Remembers which response is in flight on which connection. */
export const trackResponses = (app: FastifyInstance): void => {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    responses.set(raw.socket, reply.raw)
    done()
  })
}

/** Answers a request that Node's HTTP parser refused with a problem document, on the bare socket. */
export const answerClientError = (error: NodeJS.ErrnoException, socket: Socket): void => {
  // A second response would be read as part of the body of one that has begun.
  const response = responses.get(socket)
  // Node detaches a finished response from its socket.
  const begun = response?.headersSent && response.socket !== null
  if (error.code === 'ECONNRESET' || !socket.writable || begun) {
    socket.destroy()
    return
  }
  const refused = knownProblem(error) ?? problem('bad-request', 'The request is not well-formed HTTP.')
  const requestId = randomUUID()
  const body = problemJson(refused, requestId)
  // Node's parser reads on after a request that timed out, which must not be handled after all.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.pause()
  // Closing at once would reset the connection under a client that is still sending, and lose the response.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.end(
    [
      `HTTP/1.1 ${refused.status} ${PROBLEMS[refused.kind].title}`,
      `content-type: ${PROBLEM_TYPE}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
