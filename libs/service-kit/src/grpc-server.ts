import type { CompatServiceDefinition, ServiceImplementation } from 'nice-grpc'
import { createServer, type Server } from 'nice-grpc'
import { HealthDefinition, HealthServiceImpl, HealthState } from 'nice-grpc-server-health'
import { acceptAtOnce } from './accept-at-once'
import { failuresToStatus } from './grpc-errors'
import { GRPC_OPTIONS, STREAM_WINDOW, WINDOW } from './grpc-options'
import type { Lifecycle } from './lifecycle'
import type { Logger } from './logger'
import { widenWindow } from './widen-window'

export interface GrpcServer {
  add<Definition extends CompatServiceDefinition>(
    definition: Definition,
    implementation: ServiceImplementation<Definition>,
  ): void
  /** Resolves with the port that is served. */
  listen(address: { host: string; port: number }): Promise<number>
}

const SERVER_OPTIONS = {
  ...GRPC_OPTIONS,
  // Clients look addresses up again only when a connection ends: without an end, a copy that is added behind a name
  // gets no call, ever. Calls in flight finish first.
  'grpc.max_connection_age_ms': 30_000,
}

/**
 * A gRPC server with the standard health service. On a drain it finishes the calls in flight before it closes.
 * `longCalls` says that it takes streams of files.
 */
export const createGrpcServer = (options: {
  logger: Logger
  lifecycle: Lifecycle
  longCalls?: boolean
}): GrpcServer => {
  const interceptors = [widenWindow(options.longCalls ? STREAM_WINDOW : WINDOW), acceptAtOnce]
  const server: Server = createServer({ ...SERVER_OPTIONS, interceptors }).use(
    failuresToStatus(options.logger),
  )
  server.add(HealthDefinition, HealthServiceImpl(HealthState()))
  return {
    add: (definition, implementation) => void server.add(definition, implementation),
    listen: async ({ host, port }) => {
      const bound = await server.listen(`${host}:${port}`)
      options.lifecycle.onStop('grpc server', () => server.shutdown())
      return bound
    },
  }
}
