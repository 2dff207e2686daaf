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
