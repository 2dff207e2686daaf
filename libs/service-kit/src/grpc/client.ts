import { setTimeout as pause } from 'node:timers/promises'
import { type Channel, connectivityState } from '@grpc/grpc-js'
import {
  Actor,
  HealthDefinition,
  Idempotency,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '@leadwire/contracts'
import type { Live } from '@leadwire/settings'
import type { Client, ClientMiddleware, CompatServiceDefinition } from 'nice-grpc'
import { createClientFactory, Metadata, waitForChannelReady } from 'nice-grpc'
import { type DeadlineOptions, deadlineMiddleware } from 'nice-grpc-client-middleware-deadline'
import { errorDetailsClientMiddleware } from 'nice-grpc-error-details'
import { ServiceError } from '../errors/service-error'
import { bearerOf } from '../security/service-token'
import { boundResets } from './bound-resets'
import { ACTOR, IDEMPOTENCY, REPLAYED } from './calls'
import { type Caller, replaceableChannel, UNARY_OPTIONS } from './channel'
import { statusToErrors } from './errors'
import { traceCall } from './observe-calls'

/** How long a call waits for a connection. A rolling restart on a busy machine needs it; callers of a dead service must not wait long. */
const CONNECT_WAIT_MS = 2000
const CHECK_LIMIT_MS = 500
const CHECK_PAUSE_MS = 20

export interface CallLimits {
  readonly deadline: Date
  isGone(): boolean
  /** Aborts when the caller has gone. Created on first use: batched calls need none. */
  goneSignal(): AbortSignal
  readonly actor?: Actor | undefined
  /** With it a unary call is done once; `onReplayed` is called when its response is a saved one. */
  readonly idempotency?: Idempotency | undefined
  readonly onReplayed?: () => void
}

type UnaryOptions = DeadlineOptions & Partial<Omit<CallLimits, 'deadline' | 'isGone'>>

const millisecondsLeft = (deadline: Date | number): number =>
  Math.max(1, deadline instanceof Date ? deadline.getTime() - Date.now() : deadline)

// `grpc-timeout` is the gRPC protocol's own header.
const addMetadata = (tokens: Live<readonly string[]>): ClientMiddleware<UnaryOptions> =>
  async function* (call, options) {
    const { actor, idempotency, deadline } = options
    const metadata = Metadata(options.metadata)
    const authorization = bearerOf(tokens)
    if (authorization !== undefined) metadata.set('authorization', authorization)
    if (actor) metadata.set(ACTOR, Actor.encode(actor).finish())
    if (idempotency) metadata.set(IDEMPOTENCY, Idempotency.encode(idempotency).finish())
    if (deadline !== undefined) metadata.set('grpc-timeout', `${Math.ceil(millisecondsLeft(deadline))}m`)
    const onHeader = (header: Metadata) => {
      if (header.get(REPLAYED) === 'true') options.onReplayed?.()
    }
    const signal = options.signal ?? options.goneSignal?.()
    return yield* call.next(call.request, { ...options, metadata, onHeader, ...(signal && { signal }) })
  }

/** Waits for a connection: without one grpc-js fails a call at once. */
const waitForConnection = (channel: Channel): ClientMiddleware =>
  async function* (call, options) {
    if (channel.getConnectivityState(true) !== connectivityState.READY) {
      // Without a connection by then, the call fails with the reason.
      await waitForChannelReady(channel, new Date(Date.now() + CONNECT_WAIT_MS)).catch(() => undefined)
      options.signal?.throwIfAborted()
    }
    return yield* call.next(call.request, options)
  }

// The last middleware is the outermost.
export const factoryFor = (channel: Channel, tokens: Live<readonly string[]>) =>
  createClientFactory()
    .use(waitForConnection(channel))
    .use(boundResets)
    .use(deadlineMiddleware)
    .use(addMetadata(tokens))
    .use(traceCall)
    .use(errorDetailsClientMiddleware)
    .use(statusToErrors)

/** Connects to every address of a target (`host:port`, `dns:///name:port`, `ipv4:a:1,b:2`), balanced round robin. */
export const connectGrpc = (target: string, caller: Caller) => {
  const { channel } = replaceableChannel(target, UNARY_OPTIONS, caller)
  const factory = factoryFor(channel, caller.tokens)
  const health = factory.create(HealthDefinition, channel)
  return {
    client: <Definition extends CompatServiceDefinition>(
      definition: Definition,
      { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal },
    ) =>
      factory.create(definition, channel, {
        '*': { deadline: deadlineMs, ...(signal && { signal }) },
      }) as Client<Definition, UnaryOptions>,
    /** Asks again within the limit: one copy may drain while others serve, and the next call goes to another copy. */
    check: async (): Promise<void> => {
      const until = Date.now() + CHECK_LIMIT_MS
      const ask = () => health.check({ service: '' }, { deadline: CHECK_LIMIT_MS })
      while ((await ask()).status !== ServingStatus.SERVING) {
        if (Date.now() > until) throw new ServiceError('unavailable', 'The service is not ready.')
        await pause(CHECK_PAUSE_MS)
      }
    },
  }
}
