import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { connect as connectSocket, type Socket } from 'node:net'
import { experimental } from '@grpc/grpc-js'
import { MAX_FRAME, WINDOW } from './grpc-options'
import type { Lifecycle } from './lifecycle'
import { ServiceError } from './service-error'

type Address = experimental.SubchannelAddress

// How long one attempt to connect may take.
const CONNECT_LIMIT_MS = 2000

// A peer that is gone without a word is noticed by a ping that has no answer when the next is due.
const PING_MS = 10_000

// The connection's own window: Node gives it back as soon as data arrives, so that it holds nothing in memory.
const CONNECTION_WINDOW = 8 * WINDOW

// One for each stream that wants to know when its server goes.
const MAX_LISTENERS = 256

/** HTTP/2 connections to every address behind a gRPC target, one to each, opened when they are needed. */
export interface Http2Sessions {
  /** A connection to the next address that answers. Fails with unavailable when none does. */
  take(): Promise<ClientHttp2Session>
}

// The forms of a target that carry a scheme: `dns:///name:port`, `ipv4:a:1,b:2`, `unix:/path`.
const uriOf = (target: string): experimental.GrpcUri => {
  const [, scheme = 'dns', path = target] = /^(dns|ipv4|ipv6|unix):(?:\/\/\/)?(.+)$/.exec(target) ?? []
  return { scheme, path }
}

// A session that is destroyed waits for what it is writing, which a peer that is gone never takes: its socket does not.
const keepAlive = (session: ClientHttp2Session, socket: Socket) => {
  let answered = true
  const timer = setInterval(() => {
    if (!answered || session.destroyed) return socket.destroy()
    answered = false
    session.ping(() => {
      answered = true
    })
  }, PING_MS)
  timer.unref()
  session.once('close', () => clearInterval(timer))
}

const openSession = async (address: Address, onGone: () => void): Promise<ClientHttp2Session> => {
  const socket = connectSocket({ ...address, noDelay: true })
  const session = connect('http://service', {
    createConnection: () => socket,
    settings: { initialWindowSize: WINDOW, maxFrameSize: MAX_FRAME },
  })
  session.setMaxListeners(MAX_LISTENERS)
  // What went wrong is told to those who wait for it; the end follows.
  session.on('error', () => undefined)
  session.once('goaway', onGone)
  session.once('close', onGone)
  try {
    await once(session, 'remoteSettings', { signal: AbortSignal.timeout(CONNECT_LIMIT_MS) })
  } catch (error) {
    socket.destroy()
    throw error
  }
  session.setLocalWindowSize(CONNECTION_WINDOW)
  keepAlive(session, socket)
  return session
}

/** A stream for a call. Fails with unavailable when the connection is gone. */
export const openStream = (
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  options: ClientSessionRequestOptions,
): ClientHttp2Stream => {
  try {
    return session.request(headers, options)
  } catch (cause) {
    throw away(cause)
  }
}

const away = (cause: unknown) =>
  new ServiceError('unavailable', 'The service is away for a moment. Try again shortly.', { cause })

/** The connections to a gRPC target. */
export const connectHttp2 = (target: string, lifecycle: Lifecycle): Http2Sessions => {
  const sessions = new Map<string, Promise<ClientHttp2Session>>()
  let addresses: Address[] = []
  let turn = 0
  let resolved: () => void
  const firstResolution = new Promise<void>((resolve) => {
    resolved = resolve
  })
  const resolver = experimental.createResolver(
    uriOf(target),
    (endpoints) => {
      if (endpoints.ok) addresses = endpoints.value.flatMap((endpoint) => endpoint.addresses)
      resolved()
      return true
    },
    { 'grpc.service_config_disable_resolution': 1, 'grpc.dns_min_time_between_resolutions_ms': 1000 },
  )
  resolver.updateResolution()
  lifecycle.onStop(`http2 connections ${target}`, () => {
    resolver.destroy()
    for (const session of sessions.values())
      void session.then((open) => open.destroy()).catch(() => undefined)
  })

  const open = (address: Address): Promise<ClientHttp2Session> => {
    const name = experimental.subchannelAddressToString(address)
    const known = sessions.get(name)
    if (known) return known
    const opening = openSession(address, () => {
      if (sessions.get(name) === opening) sessions.delete(name)
      // Copies of a service come and go behind one name.
      resolver.updateResolution()
    })
    sessions.set(name, opening)
    return opening
  }

  return {
    take: async () => {
      await firstResolution
      let cause: unknown
      const known = addresses
      for (const _ of known) {
        turn = (turn + 1) % known.length
        try {
          const session = await open(known[turn]!)
          if (!session.closed && !session.destroyed) return session
        } catch (error) {
          cause = error
        }
      }
      resolver.updateResolution()
      throw away(cause)
    },
  }
}
