import type { Http2Session, ServerHttp2Stream } from 'node:http2'
import type { ServerInterceptor } from '@grpc/grpc-js'
import { MAX_FRAME } from './grpc-options'

// The connection's own window: Node gives it back as soon as data arrives, so that it holds nothing in memory.
const CONNECTION_WINDOWS = 8

/**
 * Gives the clients of a server a flow-control window of `bytes` for each call, from a connection's first call on.
 * grpc-js has an option for it that its server does not read (grpc/grpc-node#3058): its clients could have 64 KiB under
 * way, all calls together, which took half of an upload's processor time in wake-ups and window updates.
 */
export const widenWindow = (bytes: number): ServerInterceptor => {
  const widened = new WeakSet<Http2Session>()
  return (_method, call) => {
    const { stream } = call as unknown as { stream: ServerHttp2Stream }
    const { session } = stream
    if (session && !widened.has(session)) {
      widened.add(session)
      session.settings({ initialWindowSize: bytes, maxFrameSize: MAX_FRAME })
      session.setLocalWindowSize(bytes * CONNECTION_WINDOWS)
    }
    return call as ReturnType<ServerInterceptor>
  }
}
