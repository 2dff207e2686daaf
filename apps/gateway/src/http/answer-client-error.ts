import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createProblem, PROBLEM_TYPE, PROBLEMS, problemJson } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { findLibraryProblem } from './problem'

const LINGER_MS = 2000

const responses = new WeakMap<Socket, ServerResponse>()

/** Records which response is in flight on each connection, for `answerClientError`. */
export const trackResponses = (app: FastifyInstance): void => {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    responses.set(raw.socket, reply.raw)
    done()
  })
}

/** Responds to a request that Node's HTTP parser refused. Writes a problem document to the bare socket. */
export const answerClientError = (error: NodeJS.ErrnoException, socket: Socket): void => {
  // If a response has begun, the client would read a second response as part of the first response's body.
  const response = responses.get(socket)
  // Node detaches a finished response from its socket, so a response without a socket is no longer in flight.
  const begun = response?.headersSent && response.socket !== null
  if (error.code === 'ECONNRESET' || !socket.writable || begun) {
    socket.destroy()
    return
  }
  const refused =
    findLibraryProblem(error) ?? createProblem('bad-request', 'The request is not well-formed HTTP.')
  const requestId = randomUUID()
  const body = problemJson(refused, requestId)
  // Stops Node's parser, which continues after a timeout and could still pass the request to a handler.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.pause()
  // Delays the close. Closing at once would reset the connection while the client is still sending, and the
  // client would lose the response.
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
