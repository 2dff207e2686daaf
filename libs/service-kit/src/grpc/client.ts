import { setTimeout as pause } from 'node:timers/promises'
import { type Channel, connectivityState } from '@grpc/grpc-js'
import { HealthDefinition, HealthCheckResponse_ServingStatus as ServingStatus } from '@leadwire/contracts'
import {
  type Client,
  type CompatServiceDefinition,
  createClientFactory,
  waitForChannelReady,
} from 'nice-grpc'
import { type DeadlineOptions, deadlineMiddleware } from 'nice-grpc-client-middleware-deadline'
import {
  type CallOptions,
  type ClientMiddleware,
  type ClientMiddlewareCall,
  Metadata,
} from 'nice-grpc-common'
import { errorDetailsClientMiddleware } from 'nice-grpc-error-details'
import type { CallLimits } from '../batching/batcher'
import { ServiceError } from '../errors/service-error'
import { bearerOf } from '../security/service-token'
import { boundResets } from './bound-resets'
import { setCaller } from './call-metadata'
import { type Caller, replaceableChannel, UNARY_OPTIONS } from './channel'
import { statusToErrors } from './errors'
import { isReplayed } from './idempotency'
import { traceCall } from './trace-calls'

/** How long a call waits for a connection. A rolling restart on a busy machine needs it; callers of a dead service must not wait long. */
const CONNECT_WAIT_MS = 2000
const CHECK_LIMIT_MS = 500
const CHECK_PAUSE_MS = 20

const millisecondsLeft = (deadline: Date | number): number =>
  Math.max(1, deadline instanceof Date ? deadline.getTime() - Date.now() : deadline)

type UnaryOptions = DeadlineOptions & Partial<Omit<CallLimits, 'deadline' | 'isGone'>>

/** Sets the service token, the caller, the idempotency key and the timeout (the gRPC protocol's own header). */
const addMetadata = (authorization: string | undefined): ClientMiddleware<UnaryOptions> =>
  async function* <Request, Response>(
    call: ClientMiddlewareCall<Request, Response>,
    options: CallOptions & UnaryOptions,
  ) {
    const metadata = Metadata(options.metadata)
    if (authorization !== undefined) metadata.set('authorization', authorization)
    setCaller(metadata, options)
    const onHeader = (header: Metadata) => {
      if (isReplayed(header)) options.onReplayed?.()
    }
    if (options.deadline !== undefined)
      metadata.set('grpc-timeout', `${Math.ceil(millisecondsLeft(options.deadline))}m`)
    const signal = options.signal ?? options.goneSignal?.()
    return yield* call.next(call.request, { ...options, metadata, onHeader, ...(signal && { signal }) })
  }

/** Waits for a connection: without one grpc-js fails a call at once. */
const waitForConnection = (channel: Channel) =>
  async function* <Request, Response>(call: ClientMiddlewareCall<Request, Response>, options: CallOptions) {
    if (channel.getConnectivityState(true) !== connectivityState.READY) {
      // Without a connection by then, the call fails with the reason.
      await waitForChannelReady(channel, new Date(Date.now() + CONNECT_WAIT_MS)).catch(() => undefined)
      options.signal?.throwIfAborted()
    }
    return yield* call.next(call.request, options)
  }

// The last middleware is the outermost.
export const factoryFor = (channel: Channel, tokens: readonly string[]) =>
  createClientFactory()
    .use(waitForConnection(channel))
    .use(boundResets)
    .use(deadlineMiddleware)
    .use(addMetadata(bearerOf(tokens)))
    .use(traceCall)
    .use(errorDetailsClientMiddleware)
    .use(statusToErrors)

/** Asks again within the limit: one copy may drain while others serve, and the next call goes to another copy. */
const checkHealth = async (ask: () => Promise<{ status: number }>): Promise<void> => {
  const until = Date.now() + CHECK_LIMIT_MS
  for (;;) {
    const { status } = await ask()
    if (status === ServingStatus.SERVING) return
    if (Date.now() > until) throw new ServiceError('unavailable', 'The service is not ready.')
    await pause(CHECK_PAUSE_MS)
  }
}

/**
 * Connects to every address of a gRPC target (`host:port`, `dns:///name:port`, `ipv4:a:1,b:2`), balanced round robin. It reconnects
 * by itself. A call fails as `unavailable` when there is no connection for 2 s.
 */
export const connectGrpc = (target: string, caller: Caller) => {
  const { channel } = replaceableChannel(target, UNARY_OPTIONS, caller)
  const factory = factoryFor(channel, caller.tokens)
  const health = factory.create(HealthDefinition, channel)
  return {
    /**
     * A client of one service. Calls fail with ServiceErrors; `deadlineMs` and `signal` bound each call that has none of its own.
     */
    client: <Definition extends CompatServiceDefinition>(
      definition: Definition,
      { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal },
    ) =>
      factory.create(definition, channel, {
        '*': { deadline: deadlineMs, ...(signal && { signal }) },
      }) as Client<Definition, UnaryOptions>,
    /** Rejects while no copy is ready (by its gRPC health service). */
    check: () => checkHealth(() => health.check({ service: '' }, { deadline: CHECK_LIMIT_MS })),
  }
}
