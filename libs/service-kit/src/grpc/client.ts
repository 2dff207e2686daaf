import { setTimeout as pause } from 'node:timers/promises'
import { Channel, type ChannelOptions, connectivityState, credentials } from '@grpc/grpc-js'
import {
  Actor,
  HealthDefinition,
  Idempotency,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '@leadwire/contracts'
import type { Live } from '@leadwire/settings'
import { abortable, throwIfAborted } from 'abort-controller-x'
import type { Client, ClientMiddleware, CompatServiceDefinition } from 'nice-grpc'
import { createClientFactory, Metadata, waitForChannelReady } from 'nice-grpc'
import { type DeadlineOptions, deadlineMiddleware } from 'nice-grpc-client-middleware-deadline'
import { errorDetailsClientMiddleware } from 'nice-grpc-error-details'
import { ServiceError } from '../errors/service-error'
import type { Lifecycle } from '../process/lifecycle'
import { renderBearer } from '../security/service-token'
import type { Tls } from '../security/tls'
import { ACTOR, IDEMPOTENCY, REPLAYED } from './calls'
import { statusToErrors } from './errors'
import { traceCall } from './observe-calls'

const MEBIBYTE = 1024 * 1024

/** The maximum size of a message, for clients and servers. */
export const MESSAGE_LIMITS: ChannelOptions = {
  'grpc.max_receive_message_length': 64 * MEBIBYTE,
  'grpc.max_send_message_length': 64 * MEBIBYTE,
}

const CHANNEL_OPTIONS: ChannelOptions = {
  ...MESSAGE_LIMITS,
  // Uses no proxy, because a proxy that the environment names would see leads and the service token.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // Sends no DNS query for a service config, because the query keeps a process alive for 20 s if no name
  // server responds.
  'grpc.service_config_disable_resolution': 1,
  // Limits the pause between attempts to connect. By default the pause grows to two minutes, so the client
  // would find a restarted service late.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 200,
  // The time limit of one attempt to connect.
  'grpc.min_reconnect_backoff_ms': 2000,
  'grpc.dns_min_time_between_resolutions_ms': 1000,
  // With the default of 64 KiB, a page of leads waits for window updates.
  'grpc-node.flow_control_window': 4 * MEBIBYTE,
}

/** Options for unary calls. Pings detect a peer that has vanished. */
const UNARY_OPTIONS: ChannelOptions = {
  ...CHANNEL_OPTIONS,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
}

/**
 * Options for unary calls that wait for seconds. If a ping is due while a connection drains, grpc-js 1.14
 * breaks the calls of the connection. The first ping is therefore due after 45 s, when the drain is over: a
 * connection starts to drain after at most 33 s (`max_connection_age_ms` plus a tenth), and its last call
 * ends at most 10 s later, at its deadline. Pings still detect a peer that has vanished.
 * `extended/waiting-calls.spec.ts` proves this: with `UNARY_OPTIONS`, 2 of the 45 calls in this spec fail.
 */
const WAITING_OPTIONS: ChannelOptions = { ...UNARY_OPTIONS, 'grpc.keepalive_time_ms': 45_000 }

/**
 * Options for streams of batches. Such streams have no pings: when a ping is due, grpc-js 1.14 treats a
 * draining connection as dead and breaks its streams. The channel has a separate pool of connections, so that
 * replacing the channel also replaces the connections.
 */
export const STREAM_OPTIONS: ChannelOptions = { ...CHANNEL_OPTIONS, 'grpc.use_local_subchannel_pool': 1 }

/**
 * How long the previous channel stays open after new certificates have replaced it. This time is longer than
 * any call waits for a connection.
 */
const CLOSED_AFTER_MS = 15_000

export interface Caller {
  lifecycle: Lifecycle
  /** The valid service tokens. A client sends the first one. */
  tokens: Live<readonly string[]>
  tls?: Tls | undefined
}

const openChannel = (target: string, options: ChannelOptions, tls: Tls | undefined): Channel => {
  if (!tls) return new Channel(target, credentials.createInsecure(), options)
  const { ca, key, cert, servername } = tls.current()
  return new Channel(target, credentials.createSsl(Buffer.from(ca), Buffer.from(key), Buffer.from(cert)), {
    ...options,
    ...(servername !== undefined && { 'grpc.ssl_target_name_override': servername }),
  })
}

/**
 * Opens a channel. Replaces it when certificates change, because a channel keeps the certificates with
 * which it was opened.
 */
export const replaceableChannel = (target: string, options: ChannelOptions, { lifecycle, tls }: Caller) => {
  const open = () => {
    const opened = openChannel(target, options, tls)
    // Connects at once, so that the first call need not wait.
    opened.getConnectivityState(true)
    return opened
  }
  let latest = open()
  tls?.onChange(() => {
    const before = latest
    latest = open()
    setTimeout(() => before.close(), CLOSED_AFTER_MS).unref()
  })
  lifecycle.onStop(`grpc channel ${target}`, () => latest.close())
  return {
    /** Forwards to the latest channel. */
    channel: new Proxy(latest, { get: (_, name: keyof Channel) => latest[name].bind(latest) }),
    /**
     * Closes the latest channel and opens another one. Calls in flight finish on the closed channel. Calls
     * that wait for a connection fail.
     */
    replace: () => {
      latest.close()
      latest = open()
    },
  }
}

/** The limits of one call, and its actor. */
export interface CallLimits {
  readonly deadline: Date
  isGone(): boolean
  /**
   * Returns a signal that aborts when the caller has gone. The signal is created on first use, because
   * batched calls need none.
   */
  goneSignal(): AbortSignal
  readonly actor?: Actor | undefined
  /**
   * The idempotency key of a unary call. The server does the work once for the key. `onReplayed` is called if
   * the response was saved by an earlier call.
   */
  readonly idempotency?: Idempotency | undefined
  readonly onReplayed?: () => void
}

type UnaryOptions = DeadlineOptions & Partial<Omit<CallLimits, 'deadline' | 'isGone'>>

const countMillisecondsLeft = (deadline: Date | number): number =>
  Math.max(1, deadline instanceof Date ? deadline.getTime() - Date.now() : deadline)

// Sends the remaining time in `grpc-timeout`, a header of the gRPC protocol, so that the server aborts the
// call at its deadline.
const addMetadata = (tokens: Live<readonly string[]>): ClientMiddleware<UnaryOptions> =>
  async function* (call, options) {
    const { actor, idempotency, deadline } = options
    const metadata = Metadata(options.metadata)
    const authorization = renderBearer(tokens)
    if (authorization !== undefined) metadata.set('authorization', authorization)
    if (actor) metadata.set(ACTOR, Actor.encode(actor).finish())
    if (idempotency) metadata.set(IDEMPOTENCY, Idempotency.encode(idempotency).finish())
    if (deadline !== undefined) metadata.set('grpc-timeout', `${Math.ceil(countMillisecondsLeft(deadline))}m`)
    const onHeader = (header: Metadata) => {
      if (header.get(REPLAYED) === 'true') options.onReplayed?.()
    }
    const signal = options.signal ?? options.goneSignal?.()
    return yield* call.next(call.request, { ...options, metadata, onHeader, ...(signal && { signal }) })
  }

/**
 * How long a call waits for a connection. The time suffices for a rolling restart on a busy machine, and
 * callers of a dead service still get an error soon.
 */
const CONNECT_WAIT_MS = 2000

/** Waits for a connection before the call, because grpc-js fails a call at once if there is no connection. */
const waitForConnection = (channel: Channel): ClientMiddleware =>
  async function* (call, options) {
    if (channel.getConnectivityState(true) !== connectivityState.READY) {
      // If no connection opens in time, the call itself fails with the reason.
      await waitForChannelReady(channel, new Date(Date.now() + CONNECT_WAIT_MS)).catch(() => undefined)
      options.signal?.throwIfAborted()
    }
    return yield* call.next(call.request, options)
  }

// Bounds how many streams this process resets. Node's HTTP/2 server allows a client 1000 resets at once and
// 33 more a second (nghttp2's `stream_reset_rate_limit`). If a client exceeds this, the server closes the
// connection with all its calls. Without the bound, callers that disconnect would therefore make the calls of
// others fail. All connections share the bound.
const RESETS_AT_ONCE = 500
const RESETS_PER_SECOND = 25

let resetsLeft = RESETS_AT_ONCE
let resetsCountedAt = performance.now()

const mayReset = (): boolean => {
  const now = performance.now()
  const regained = ((now - resetsCountedAt) / 1000) * RESETS_PER_SECOND
  resetsLeft = Math.min(RESETS_AT_ONCE, resetsLeft + regained)
  resetsCountedAt = now
  if (resetsLeft < 1) return false
  resetsLeft -= 1
  return true
}

/**
 * Rejects a unary call when its signal aborts, and resets the call's stream. If the bound on resets is used
 * up, the stream stays open until the call's deadline.
 */
const boundResets: ClientMiddleware = async function* (call, options) {
  const { signal } = options
  if (!signal || call.responseStream) return yield* call.next(call.request, options)
  throwIfAborted(signal)
  const reset = new AbortController()
  const onAbort = () => {
    if (mayReset()) reset.abort()
  }
  signal.addEventListener('abort', onAbort)
  try {
    const response = call.next(call.request, { ...options, signal: reset.signal }).next()
    return (await abortable(signal, response)).value
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Makes the factory of a channel's clients. The last middleware is the outermost. */
export const createFactory = (channel: Channel, tokens: Live<readonly string[]>) =>
  createClientFactory()
    .use(waitForConnection(channel))
    .use(boundResets)
    .use(deadlineMiddleware)
    .use(addMetadata(tokens))
    .use(traceCall)
    .use(errorDetailsClientMiddleware)
    .use(statusToErrors)

const CHECK_LIMIT_MS = 500
const CHECK_PAUSE_MS = 20

/**
 * Connects to all IP addresses of a target (`host:port`, `dns:///name:port`, `ipv4:a:1,b:2`). Balances calls
 * round robin. With `waits`, the connection is for calls that wait for seconds.
 */
export const connectGrpc = (target: string, caller: Caller, { waits = false } = {}) => {
  const { channel } = replaceableChannel(target, waits ? WAITING_OPTIONS : UNARY_OPTIONS, caller)
  const factory = createFactory(channel, caller.tokens)
  const health = factory.create(HealthDefinition, channel)
  return {
    client: <Definition extends CompatServiceDefinition>(
      definition: Definition,
      { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal },
    ) =>
      factory.create(definition, channel, {
        '*': { deadline: deadlineMs, ...(signal && { signal }) },
      }) as Client<Definition, UnaryOptions>,
    /**
     * Resolves if a copy of the service is ready. Asks repeatedly for up to 500 ms, because one copy may
     * drain while others serve, and each call goes to the next copy. Throws `unavailable` if no copy was
     * ready in time.
     */
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
