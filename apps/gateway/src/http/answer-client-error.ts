import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { PROBLEM_TYPE, PROBLEMS, type Problem, problem, problemJson } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const problemOfParser = (code: string | undefined): Problem => {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem('headers-too-large', 'The headers may not be larger than 16 KiB.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem('timeout', 'The request did not arrive in time.')
    default:
      return problem('bad-request', 'The request is not well-formed HTTP.')
  }
}

const LINGER_MS = 2000

const responses = new WeakMap<Socket, ServerResponse>()

/** Remembers which response is under way on which connection. */
export const trackResponses = (app: FastifyInstance): void => {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    responses.set(raw.socket, reply.raw)
    done()
  })
}

/** Answers what Node's HTTP parser refused, on the bare socket, with the same document as everything else. */
export const answerClientError = (error: NodeJS.ErrnoException, socket: Socket): void => {
  // A response that has begun can't be taken back: another one inside it would be taken for its body.
  const response = responses.get(socket)
  // Node takes a finished response off its socket.
  const begun = response?.headersSent && response.socket !== null
  if (error.code === 'ECONNRESET' || !socket.writable || begun) {
    socket.destroy()
    return
  }
  const refused = problemOfParser(error.code)
  const requestId = randomUUID()
  const body = problemJson(refused, requestId)
  // Node's parser reads on after a request that was too slow: what comes now must not be done after all.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.pause()
  // Not at once: what the client is still sending would reset the connection, and take the answer with it.
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
