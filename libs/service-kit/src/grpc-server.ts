import type { CompatServiceDefinition, ServiceImplementation } from 'nice-grpc'
import { createServer, type Server } from 'nice-grpc'
import { HealthDefinition } from 'nice-grpc-server-health'
import { acceptAtOnce } from './accept-at-once'
import { failuresToStatus } from './grpc-errors'
import { healthService } from './grpc-health'
import { GRPC_OPTIONS, STREAM_WINDOW, WINDOW } from './grpc-options'
import type { HealthCheck } from './health'
import type { Lifecycle } from './lifecycle'
import type { Logger } from './logger'
import { readable } from './readable'
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
 * `longCalls` says that it takes streams of files; `checks` are what it can't serve without.
 */
export const createGrpcServer = (options: {
  logger: Logger
  lifecycle: Lifecycle
  longCalls?: boolean
  checks?: HealthCheck[]
}): GrpcServer => {
  const { logger, lifecycle, checks = [] } = options
  const interceptors = [widenWindow(options.longCalls ? STREAM_WINDOW : WINDOW), acceptAtOnce]
  const server: Server = createServer({ ...SERVER_OPTIONS, interceptors }).use(failuresToStatus(logger))
  const services = new Set<string>()
  server.add(HealthDefinition, healthService({ services, checks, lifecycle }))
  return {
    add: (definition, implementation) => {
      services.add((definition as { fullName: string }).fullName)
      server.add(readable(definition), implementation)
    },
    listen: async ({ host, port }) => {
      const bound = await server.listen(`${host}:${port}`)
      lifecycle.onStop('grpc server', () => server.shutdown())
      return bound
    },
  }
}
