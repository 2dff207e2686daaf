import { Channel, type ChannelOptions, credentials } from '@grpc/grpc-js'
import type { Lifecycle } from '../runtime/lifecycle'
import type { Tls } from '../runtime/tls'

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

/** A channel that can be replaced by another one to the same target. */
export interface ReplaceableChannel {
  current(): Channel
  /** Opens another one. Calls that are on their way end on the one before; those without a connection yet fail. */
  replace(): void
  /** What `make` makes of the channel, and anew of each later one. */
  each<T>(make: (channel: Channel) => T): () => T
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
  let channel = open()
  tls?.onChange(() => {
    const before = channel
    channel = open()
    setTimeout(() => before.close(), CLOSED_AFTER_MS).unref()
  })
  lifecycle.onStop(`grpc channel ${target}`, () => channel.close())
  return {
    current: () => channel,
    replace: () => {
      channel.close()
      channel = open()
    },
    each: (make) => {
      let made = { channel, value: make(channel) }
      return () => {
        if (made.channel !== channel) made = { channel, value: make(channel) }
        return made.value
      }
    },
  }
}
