import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '../errors/service-error'

/** A method of a client that takes a stream of messages and answers each. */
export type StreamMethod<Request, Response> = (
  requests: AsyncIterable<Request>,
  options: { signal: AbortSignal },
) => AsyncIterable<Response>

/** More than the batches that a batcher has in flight. Further streams are closed after their batch. */
const MAX_IDLE = 4
/** Before a batch that was not read is sent again: servers that drain need a moment to close. */
const RESEND_AFTER_MS = 10

interface Stream<Request, Response> {
  /** Resolves with the response, or with undefined when the server ended the stream without reading the batch. */
  ask(batch: Request): Promise<Response | undefined>
  isOpen(): boolean
  /** Ends it when nothing is in flight. */
  end(): void
  cancel(): void
}

const openStream = <Request, Response>(
  method: StreamMethod<Request, Response>,
  onEnd: () => void,
): Stream<Request, Response> => {
  const controller = new AbortController()
  const requests = new PassThrough({ objectMode: true })
  const responses = method(requests, { signal: controller.signal })[Symbol.asyncIterator]()
  let open = true
  const ended = () => {
    open = false
    onEnd()
  }
  // A read is always pending, so that the end of an idle stream is noticed.
  const nextResponse = () => {
    const next = responses.next()
    next.then(({ done }) => done && ended(), ended)
    return next
  }
  let response = nextResponse()
  return {
    ask: async (batch) => {
      requests.write(batch)
      const { done, value } = await response
      if (done) return undefined
      response = nextResponse()
      return value
    },
    isOpen: () => open,
    end: () => requests.end(),
    cancel: () => controller.abort(),
  }
}

/**
 * Calls a streaming method as if it were unary: a batch takes an idle stream, or opens one. A message on an open stream costs an
 * eighth of a unary call's processor time (60 instead of 480 us of both ends, grpc-js 1.14).
 *
 * A batch times out at the deadline (milliseconds since the epoch), and is sent again until then if the server did not read it.
 * `onTimeout` is called when a server did not answer in time: its connection may be dead.
 */
export const batchStream = <Request, Response>(
  method: StreamMethod<Request, Response>,
  onTimeout: () => void,
): ((batch: Request, deadline: number) => Promise<Response>) => {
  // The least recently used first, so that their servers share the work.
  let idle: Stream<Request, Response>[] = []

  const take = (): Stream<Request, Response> =>
    idle.shift() ??
    openStream(method, () => {
      idle = idle.filter((stream) => stream.isOpen())
    })

  const giveBack = (stream: Stream<Request, Response>) => {
    if (!stream.isOpen()) return
    if (idle.length < MAX_IDLE) idle.push(stream)
    else stream.end()
  }

  const askInTime = async (stream: Stream<Request, Response>, batch: Request, deadline: number) => {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        stream.cancel()
        onTimeout()
        reject(ServiceError.timedOut())
      }, deadline - Date.now())
    })
    try {
      return await Promise.race([stream.ask(batch), timeout])
    } finally {
      clearTimeout(timer)
    }
  }

  return async (batch, deadline) => {
    for (;;) {
      const stream = take()
      const response = await askInTime(stream, batch, deadline)
      if (response !== undefined) {
        giveBack(stream)
        return response
      }
      await pause(RESEND_AFTER_MS)
      if (Date.now() >= deadline) throw ServiceError.timedOut()
    }
  }
}
