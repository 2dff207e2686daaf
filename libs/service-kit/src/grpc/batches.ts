import type { CompatServiceDefinition } from 'nice-grpc'
import { activeTraceparent, inSpan, SpanKind } from '../tracing/tracing'
import { batchStream, type StreamMethod } from './batch-stream'
import { type Caller, replaceableChannel, STREAM_OPTIONS } from './channel'
import { factoryFor } from './client'

/** A server that was silent for this long when a batch times out counts as gone. */
const SILENCE_MS = 5000

/** A service definition as ts-proto generates it. */
type Generated<Name extends string> = CompatServiceDefinition & {
  fullName: string
  methods: Record<Name, { name: string; requestType: Message<unknown>; responseType: Message<unknown> }>
}
type Message<Value> = { decode(bytes: Uint8Array): Value }
type ValueOf<Type> = Type extends Message<infer Value> ? Value : never

type Streams = Record<string, StreamMethod<unknown, unknown>>

export interface Batches {
  /** The named method of a service as a function of a batch and its deadline, in milliseconds since the epoch. */
  method<Name extends string, Definition extends Generated<Name>>(
    definition: Definition,
    name: Name,
  ): (
    batch: ValueOf<Definition['methods'][Name]['requestType']>,
    deadline: number,
  ) => Promise<ValueOf<Definition['methods'][Name]['responseType']>>
}

/**
 * Streams of batches to a gRPC target (see `connectGrpc`), on a channel of their own. The channel is replaced when a batch times
 * out and the server was silent: without pings nothing else shows that the server is gone.
 */
export const connectBatches = (target: string, caller: Caller): Batches => {
  const { channel, replace } = replaceableChannel(target, STREAM_OPTIONS, caller)
  const factory = factoryFor(channel, caller.tokens)
  let answeredAt = Date.now()

  const replaceSilent = () => {
    if (Date.now() - answeredAt < SILENCE_MS) return
    answeredAt = Date.now()
    replace()
  }

  return {
    method: (definition, name) => {
      const client = factory.create(definition, channel) as unknown as Streams
      const ask = batchStream(client[name]!, replaceSilent)
      const span = `${definition.fullName}/${definition.methods[name].name}`
      return async (batch, deadline) => {
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
