import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2'
import { setImmediate as soon } from 'node:timers/promises'
import { errorOfTrailers } from './grpc-errors'
import { callHeaders, PREFIX_BYTES, prefixOf } from './grpc-framing'
import { type Http2Sessions, openStream } from './http2-sessions'
import { patienceEnds, patiently } from './patience'
import { ServiceError } from './service-error'

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants

interface ClientStreamMethod<Request, Response> {
  sessions: Http2Sessions
  /** `/package.Service/Method` */
  path: string
  /** A message's bytes, in parts. They are sent as they are: nobody may write to them any more. */
  encode: (message: Request) => Uint8Array[]
  decode: (bytes: Uint8Array) => Response
}

interface Answered {
  stream: ClientHttp2Stream
  header: IncomingHttpHeaders
}

/**
 * A gRPC method that takes a stream of messages and answers with one, called on HTTP/2 itself: grpc-js copies each message
 * and nice-grpc copies it once more, and both let many wait. Messages are asked for no faster than the server takes them.
 * It fails like every other call, as soon as the server does; an aborted one rejects with the signal's reason.
 *
 * The server has to answer with its header before it reads a message (`createGrpcServer` does). The first is only sent
 * then, so that a call which met a server on its way out is made again with another and nothing of it is lost.
 */
export const clientStream =
  <Request, Response>({ sessions, path, encode, decode }: ClientStreamMethod<Request, Response>) =>
  async (
    messages: AsyncIterable<Request>,
    { deadline, signal }: { deadline: number; signal: AbortSignal },
  ): Promise<Response> => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(deadline)])
    const open = async () => {
      const session = await sessions.take()
      return headerOf(openStream(session, callHeaders(path, deadline), { signal: limit }), path)
    }
    try {
      const answered = await patiently(open, { until: patienceEnds(), signal: limit })
      const { stream } = answered
      let code = NGHTTP2_CANCEL
      try {
        const answer = answerOf(answered, path)
        // The server may answer before it has read everything; then nobody waits for the rest.
        await Promise.race([send(stream, messages, encode), answer])
        const response = decode(await answer)
        code = NGHTTP2_NO_ERROR
        return response
      } finally {
        stream.close(code)
      }
    } catch (error) {
      signal.throwIfAborted()
      if (limit.aborted)
        throw new ServiceError('late', 'The service did not answer in time.', { cause: error })
      throw error
    }
  }

const headerOf = (stream: ClientHttp2Stream, path: string): Promise<Answered> =>
  new Promise((resolve, reject) => {
    // What went wrong is in the trailers, or nowhere; the end follows.
    stream.on('error', () => undefined)
    stream.once('response', (header) => resolve({ stream, header }))
    stream.once('close', () => reject(errorOfTrailers(path, {})))
  })

const answerOf = ({ stream, header }: Answered, path: string): Promise<Uint8Array> => {
  const parts: Buffer[] = []
  // A call that failed at once has its status in the header.
  let trailers = header
  stream.on('data', (part: Buffer) => parts.push(part))
  stream.once('trailers', (headers) => {
    trailers = headers
  })
  return new Promise((resolve, reject) => {
    const settle = () => {
      if (trailers['grpc-status'] === '0') resolve(Buffer.concat(parts).subarray(PREFIX_BYTES))
      else reject(errorOfTrailers(path, trailers))
    }
    // Trailers that came with the end are told of after it.
    stream.once('end', () => void soon().then(settle))
    stream.once('close', settle)
  })
}

const send = async <Request>(
  stream: ClientHttp2Stream,
  messages: AsyncIterable<Request>,
  encode: (message: Request) => Uint8Array[],
): Promise<void> => {
  for await (const message of messages) {
    if (stream.closed) return
    const parts = encode(message)
    stream.cork()
    stream.write(prefixOf(parts.reduce((sum, part) => sum + part.length, 0)))
    for (const part of parts) stream.write(part)
    stream.uncork()
    if (stream.writableNeedDrain) await roomIn(stream)
  }
  stream.end()
}

const roomIn = (stream: ClientHttp2Stream): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
  })
