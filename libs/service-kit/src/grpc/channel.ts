import { Channel, type ChannelOptions, credentials } from '@grpc/grpc-js'
import type { Lifecycle } from '../process/lifecycle'
import type { Tls } from '../security/tls'

const MEBIBYTE = 1024 * 1024

/** Options that both ends of a call must agree on. */
const MESSAGE_LIMITS: ChannelOptions = {
  'grpc.max_receive_message_length': 64 * MEBIBYTE,
  'grpc.max_send_message_length': 64 * MEBIBYTE,
}

const CLIENT_OPTIONS: ChannelOptions = {
  ...MESSAGE_LIMITS,
  // A proxy of the environment is for the outside: it would see leads and the service token.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // The service config is given above. The look-up for another one (a TXT record) keeps a process alive for 20 s where no
  // name server answers, as on a network without a way out.
  'grpc.service_config_disable_resolution': 1,
  // The default grows to two minutes: a service that came back would stay unknown for as long.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 200,
  // How long one attempt to connect may take.
  'grpc.min_reconnect_backoff_ms': 2000,
  'grpc.dns_min_time_between_resolutions_ms': 1000,
  // The default of 64 KiB makes a page of leads wait for window updates.
  'grpc-node.flow_control_window': 4 * MEBIBYTE,
}

/** For unary calls. A peer that vanished without a word is noticed by pings. */
export const UNARY_OPTIONS: ChannelOptions = {
  ...CLIENT_OPTIONS,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
}

/**
 * For streams of batches, without pings: grpc-js takes a connection that is draining for dead when a ping is due, and cuts
 * the streams that are still open on it. The pool of its own lets a channel be replaced together with its connections.
 */
export const STREAM_OPTIONS: ChannelOptions = { ...CLIENT_OPTIONS, 'grpc.use_local_subchannel_pool': 1 }

export const SERVER_OPTIONS: ChannelOptions = {
  ...MESSAGE_LIMITS,
  // Clients look addresses up again only when a connection ends: without an end, a copy that is added behind a name gets
  // no call. Calls in flight finish first.
  'grpc.max_connection_age_ms': 30_000,
}

/** Longer than a call may wait for a connection: the channel that was replaced still has those which wait on it. */
const CLOSED_AFTER_MS = 15_000

/** Who calls, as the other end is told it. */
export interface Caller {
  lifecycle: Lifecycle
  /** The first of them is shown to the server. */
  tokens: readonly string[]
  /** With it connections are encrypted, and both ends show a certificate. */
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

/** A channel that stands for the latest of several to the same target. */
export interface ReplaceableChannel {
  channel: Channel
  /** Opens another one. Calls that are on their way end on the one before; those without a connection yet fail. */
  replace(): void
}

/** Opens a channel. It is replaced when certificates are: those of a channel stay as they were when it was opened. */
export const replaceableChannel = (
  target: string,
  options: ChannelOptions,
  { lifecycle, tls }: Caller,
): ReplaceableChannel => {
  const open = () => {
    const opened = openChannel(target, options, tls)
    // It connects at once, so that the first call need not wait for it.
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
    channel: new Proxy(latest, { get: (_, name: keyof Channel) => latest[name].bind(latest) }),
    replace: () => {
      latest.close()
      latest = open()
    },
  }
}
