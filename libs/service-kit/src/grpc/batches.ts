import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { abortable } from 'abort-controller-x'
import type { CallContext, CompatServiceDefinition } from 'nice-grpc'
import { ServiceError } from '../errors/service-error'
import { activeTraceparent, inSpan, SpanKind } from '../tracing/tracing'
import { type Caller, replaceableChannel, STREAM_OPTIONS } from './channel'
import { factoryFor } from './client'
import type { ObservedContext } from './observe-calls'

// A streaming method called as if it were unary: a batch takes an idle stream, or opens one. A message on an open stream costs an
// eighth of a unary call's processor time (60 instead of 480 us of both ends, grpc-js 1.14).

/** Clients find new copies of a service only when they open another stream. */
const STREAM_AGE_MS = 20_000
/** More than the batches that a batcher has in flight. Further streams are closed after their batch. */
const MAX_IDLE = 4
/** Before a batch that was not read is sent again: servers that drain need a moment to close. */
const RESEND_AFTER_MS = 10
/** A server that was silent for this long when a batch times out counts as gone. */
const SILENCE_MS = 5000

// Ends the stream behind an answer when it is old, and at once when the service drains: the client sends what was not read again.
export const answerEach = <Request extends object, Response>(
  answer: (request: Request) => Promise<Response>,
  draining: AbortSignal,
) =>
  async function* (requests: AsyncIterable<Request>, context: CallContext) {
    // `observeCalls` adds it.
    const { observe } = context as ObservedContext
    const endsAt = performance.now() + STREAM_AGE_MS
    const batches = requests[Symbol.asyncIterator]()
    while (!draining.aborted && performance.now() < endsAt) {
      const batch = await abortable(draining, batches.next()).catch((error) => {
        if (!draining.aborted) throw error
      })
      if (!batch || batch.done) return
      yield await observe(batch.value, () => answer(batch.value))
    }
  }

type StreamMethod = (
  requests: AsyncIterable<unknown>,
  options: { signal: AbortSignal },
) => AsyncIterable<unknown>

const openStream = (method: StreamMethod) => {
  const controller = new AbortController()
  const requests = new PassThrough({ objectMode: true })
  const responses = method(requests, { signal: controller.signal })[Symbol.asyncIterator]()
  let open = true
  const ended = () => {
    open = false
  }
  // A read is always pending, so that the end of an idle stream is noticed.
  const nextResponse = () => {
    const next = responses.next()
    next.then(({ done }) => done && ended(), ended)
    return next
  }
  let response = nextResponse()
  return {
    /** Resolves with undefined when the server ended the stream without reading the batch. */
    ask: async (batch: unknown) => {
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

type Stream = ReturnType<typeof openStream>

/** A batch that the server did not read is sent again until its deadline (milliseconds since the epoch). */
const batchStream = (method: StreamMethod, onTimeout: () => void) => {
  // The least recently used first, so that their servers share the work.
  const idle: Stream[] = []

  const take = (): Stream => {
    const stream = idle.shift() ?? openStream(method)
    return stream.isOpen() ? stream : take()
  }

  const askInTime = (stream: Stream, batch: unknown, deadline: number) => {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        stream.cancel()
        onTimeout()
        reject(ServiceError.timedOut())
      }, deadline - Date.now())
    })
    return Promise.race([stream.ask(batch), timeout]).finally(() => clearTimeout(timer))
  }

  return async (batch: unknown, deadline: number) => {
    for (;;) {
      const stream = take()
      const response = await askInTime(stream, batch, deadline)
      if (response !== undefined) {
        if (idle.length >= MAX_IDLE) stream.end()
        else if (stream.isOpen()) idle.push(stream)
        return response
      }
      await pause(RESEND_AFTER_MS)
      if (Date.now() >= deadline) throw ServiceError.timedOut()
    }
  }
}

type Generated<Name extends string> = CompatServiceDefinition & {
  fullName: string
  methods: Record<Name, { name: string; requestType: Message<unknown>; responseType: Message<unknown> }>
}
type Message<Value> = { decode(bytes: Uint8Array): Value }
type ValueOf<Type> = Type extends Message<infer Value> ? Value : never

// The channel is replaced when a batch times out and the server was silent: without pings nothing else shows that it is gone.
export const connectBatches = (target: string, caller: Caller) => {
  const { channel, replace } = replaceableChannel(target, STREAM_OPTIONS, caller)
  const factory = factoryFor(channel, caller.tokens)
  let answeredAt = Date.now()

  const replaceSilent = () => {
    if (Date.now() - answeredAt < SILENCE_MS) return
    answeredAt = Date.now()
    replace()
  }

  return {
    /** A streaming method as a function of a batch and its deadline, in milliseconds since the epoch. */
    method: <Name extends string, Definition extends Generated<Name>>(definition: Definition, name: Name) => {
      const client = factory.create(definition, channel) as unknown as Record<string, StreamMethod>
      const ask = batchStream(client[name]!, replaceSilent)
      const span = `${definition.fullName}/${definition.methods[name].name}`
      return async (
        batch: ValueOf<Definition['methods'][Name]['requestType']>,
        deadline: number,
      ): Promise<ValueOf<Definition['methods'][Name]['responseType']>> => {
        const response = await inSpan(span, { kind: SpanKind.CLIENT }, () => {
          const traceparent = activeTraceparent()
          return ask(traceparent === undefined ? batch : { ...(batch as object), traceparent }, deadline)
        })
        answeredAt = Date.now()
        return response as never
      }
    },
  }
}
