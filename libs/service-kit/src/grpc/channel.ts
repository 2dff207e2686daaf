import { Channel, type ChannelOptions, credentials } from '@grpc/grpc-js'
import type { Live } from '@leadwire/settings'
import type { Lifecycle } from '../process/lifecycle'
import type { Tls } from '../security/tls'

const MEBIBYTE = 1024 * 1024

const MESSAGE_LIMITS: ChannelOptions = {
  'grpc.max_receive_message_length': 64 * MEBIBYTE,
  'grpc.max_send_message_length': 64 * MEBIBYTE,
}

const CLIENT_OPTIONS: ChannelOptions = {
  ...MESSAGE_LIMITS,
  // A proxy of the environment would see leads and the service token.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // The query for a service config in DNS keeps a process alive for 20 s where no name server answers.
  'grpc.service_config_disable_resolution': 1,
  // The default grows to two minutes, and a service that came back would not be found.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 200,
  // The limit of one attempt to connect.
  'grpc.min_reconnect_backoff_ms': 2000,
  'grpc.dns_min_time_between_resolutions_ms': 1000,
  // The default of 64 KiB makes a page of leads wait for window updates.
  'grpc-node.flow_control_window': 4 * MEBIBYTE,
}

/** For unary calls. Pings notice a peer that vanished. */
export const UNARY_OPTIONS: ChannelOptions = {
  ...CLIENT_OPTIONS,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 10_000,
}

// Without pings: grpc-js 1.14 treats a draining connection as dead when a ping is due, and cuts its streams. With a pool of its
// own a channel is replaced together with its connections.
export const STREAM_OPTIONS: ChannelOptions = { ...CLIENT_OPTIONS, 'grpc.use_local_subchannel_pool': 1 }

export const SERVER_OPTIONS: ChannelOptions = {
  ...MESSAGE_LIMITS,
  // Clients resolve a name again only when a connection ends: without an end, a new copy gets no call. Calls in flight finish.
  'grpc.max_connection_age_ms': 30_000,
}

/** Longer than a call may wait for a connection: calls still wait on the replaced channel. */
const CLOSED_AFTER_MS = 15_000

export interface Caller {
  lifecycle: Lifecycle
  /** The first is sent. */
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

/** Opens a channel, and replaces it when certificates change: a channel keeps those it was opened with. */
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
    /** Stands for the latest of the channels. */
    channel: new Proxy(latest, { get: (_, name: keyof Channel) => latest[name].bind(latest) }),
    /** Opens another channel. Calls in flight end on the one before; those without a connection fail. */
    replace: () => {
      latest.close()
      latest = open()
    },
  }
}
