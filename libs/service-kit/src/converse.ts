import { type ClientHttp2Session, constants, type IncomingHttpHeaders } from 'node:http2'
import { type Encoder, encodeMessage } from '@leadwire/contracts'
import { errorOfTrailers } from './grpc-errors'
import { callHeaders, createMessageReader, prefixOf } from './grpc-framing'
import { type Http2Sessions, openStream } from './http2-sessions'
import { patienceEnds, patiently } from './patience'
import { ServiceError } from './service-error'

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants

// More than the batches that gathering has under way; what many need at once is not kept.
const MAX_IDLE = 4

/** A method of a generated service definition that takes a stream of messages and answers each. */
interface ConversationMethod<Request, Response> {
  name: string
  requestType: Encoder<Request>
  requestStream: true
  responseType: { decode(bytes: Uint8Array): Response }
  responseStream: true
}

type Converse<Method> =
  Method extends ConversationMethod<infer Request, infer Response>
    ? (request: Request) => Promise<Response>
    : never

/** The methods of a service that are streams both ways, as functions. */
type Conversations<Methods> = {
  [Name in keyof Methods as Methods[Name] extends { requestStream: true; responseStream: true }
    ? Name
    : never]: Converse<Methods[Name]>
}

/** A stream of a call on which one message at a time is answered. */
interface Line {
  /** Resolves with the answer; with undefined when the message was not taken up. Rejects as a call would. */
  ask(message: Uint8Array): Promise<Buffer | undefined>
  isOpen(): boolean
  hangUp(): void
}

interface Waiting {
  resolve: (answer: Buffer | undefined) => void
  reject: (error: unknown) => void
  timer: NodeJS.Timeout
}

const late = () => new ServiceError('late', 'The service did not answer in time.')

const openLine = (session: ClientHttp2Session, path: string, deadlineMs: number): Line => {
  const stream = openStream(session, callHeaders(path), { endStream: false })
  let waiting: Waiting | undefined
  let trailers: IncomingHttpHeaders = {}
  let open = true

  const settle = (end: (waiting: Waiting) => void) => {
    if (!waiting) return
    clearTimeout(waiting.timer)
    const settled = waiting
    waiting = undefined
    end(settled)
  }
  const hangUp = () => {
    open = false
    // The server ends its side when it has read this.
    if (!waiting) stream.end()
  }
  const over = () => {
    open = false
    const untaken = trailers['grpc-status'] === '0' || stream.rstCode === NGHTTP2_REFUSED_STREAM
    settle(({ resolve, reject }) => (untaken ? resolve(undefined) : reject(errorOfTrailers(path, trailers))))
    stream.close()
  }

  // A server on its way out has said so: what it has taken it answers, and it waits for the rest to be ended.
  session.on('goaway', hangUp)
  // A call that failed at once has its status in the header.
  stream.on('response', (header) => {
    trailers = header
  })
  stream.on('trailers', (headers) => {
    trailers = headers
  })
  const read = createMessageReader((message) => {
    settle(({ resolve }) => resolve(message))
    if (!open) stream.end()
  })
  stream.on('data', read)
  // Trailers that came with the end are told of after it.
  stream.once('end', () => setImmediate(over))
  stream.once('close', () => {
    session.off('goaway', hangUp)
    over()
  })
  // What went wrong is in the trailers, or nowhere; the end follows.
  stream.on('error', () => undefined)

  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          settle((unanswered) => unanswered.reject(late()))
          open = false
          stream.close(NGHTTP2_CANCEL)
        }, deadlineMs)
        waiting = { resolve, reject, timer }
        stream.cork()
        stream.write(prefixOf(message.length))
        stream.write(message)
        stream.uncork()
      }),
    isOpen: () => open && !stream.closed,
    hangUp,
  }
}

const converse = <Request, Response>(
  sessions: Http2Sessions,
  path: string,
  method: ConversationMethod<Request, Response>,
  deadlineMs: number,
): ((request: Request) => Promise<Response>) => {
  // In the order in which they were last used: the servers behind them take turns.
  let idle: Line[] = []

  const idleLine = (): Line | undefined => {
    idle = idle.filter((line) => line.isOpen())
    return idle.shift()
  }
  const keep = (line: Line) => {
    if (!line.isOpen()) return
    if (idle.length < MAX_IDLE) idle.push(line)
    else line.hangUp()
  }

  return async (request) => {
    const message = encodeMessage(method.requestType, request)
    const until = patienceEnds()
    const openOne = async () => openLine(await sessions.take(), path, deadlineMs)
    for (;;) {
      const line = idleLine() ?? (await patiently(openOne, { until }))
      const answer = await line.ask(message)
      if (answer) {
        keep(line)
        return method.responseType.decode(answer)
      }
      if (performance.now() > until) throw errorOfTrailers(path, {})
    }
  }
}

/**
 * The methods of a service that answer each message of a stream, called as if they were unary: a message that finds a stream
 * idle is sent on it, and only without one a stream is opened. A message costs a quarter to a third of a call, which pays
 * for headers, trailers and a stream of its own at each end.
 *
 * They fail like every other call. A message that no server took up (it was on its way out, there was none yet) is sent
 * again for half a second; an unanswered one may have been taken, and fails as unavailable. Each has `deadlineMs`.
 */
export const converseWith = <Methods extends object>(
  sessions: Http2Sessions,
  { fullName, methods }: { fullName: string; methods: Methods },
  { deadlineMs }: { deadlineMs: number },
): Conversations<Methods> => {
  const all = Object.entries(methods) as [string, ConversationMethod<unknown, unknown>][]
  const conversations = all
    .filter(([, { requestStream, responseStream }]) => requestStream && responseStream)
    .map(([name, method]) => [name, converse(sessions, `/${fullName}/${method.name}`, method, deadlineMs)])
  return Object.fromEntries(conversations)
}
