import { ServerCredentials } from '@grpc/grpc-js'
import { DESCRIPTORS, HealthDefinition } from '@leadwire/contracts'
import { type CompatServiceDefinition, createServer, type ServiceImplementation } from 'nice-grpc'
import { type CallContext, ServerError, type ServerMiddlewareCall, Status } from 'nice-grpc-common'
import { errorDetailsServerMiddleware } from 'nice-grpc-error-details'
import { ServerReflection, ServerReflectionService } from 'nice-grpc-server-reflection'
import { boundAccounts } from '../admission/fair-calls'
import type { HealthCheck } from '../process/health'
import type { Lifecycle } from '../process/lifecycle'
import type { Logger } from '../process/logger'
import type { Metrics } from '../process/metrics'
import { createTokenCheck } from '../security/service-token'
import type { Tls } from '../security/tls'
import { SERVER_OPTIONS } from './channel'
import { errorsToStatus, readable } from './errors'
import { healthService } from './health'
import { observeCalls } from './observe-calls'
import { traceHandler } from './trace-calls'

export interface GrpcServer {
  add<Definition extends CompatServiceDefinition>(
    definition: Definition,
    implementation: ServiceImplementation<Definition>,
  ): void
  /** Resolves with the port that is served. */
  listen(address: { host: string; port: number }): Promise<number>
}

/** Refuses calls without one of the tokens, except those of health. */
const requireToken = (tokens: readonly string[]) => {
  const isKnown = createTokenCheck(tokens)
  return async function* <Request, Response>(
    call: ServerMiddlewareCall<Request, Response>,
    context: CallContext,
  ) {
    const open = call.method.path.startsWith(`/${HealthDefinition.fullName}/`)
    if (!open && !isKnown(context.metadata.get('authorization')))
      throw new ServerError(Status.UNAUTHENTICATED, 'a service token is needed')
    return yield* call.next(call.request, context)
  }
}

/**
 * Certificates that can be replaced while the server runs, for new connections. Those of `createSsl` can't, and the certificate
 * providers of grpc-js are experimental; both extend this class in the same way.
 */
class ReplaceableCredentials extends ServerCredentials {
  constructor(tls: Tls) {
    super({ requestCert: true, rejectUnauthorized: true }, tls.current())
    tls.onChange((certificates) => this.updateSecureContextOptions(certificates))
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }
}

/** Mutual TLS where there are certificates, else plain text. */
const serverCredentials = (tls: Tls | undefined): ServerCredentials =>
  tls ? new ReplaceableCredentials(tls) : ServerCredentials.createInsecure()

/**
 * A gRPC server with the standard services for health and reflection. Calls need one of `tokens`; `checks` make it ready. In a
 * drain it finishes the calls in flight.
 */
export const createGrpcServer = ({
  logger,
  lifecycle,
  tokens,
  tls,
  checks = [],
  metrics,
}: {
  logger: Logger
  lifecycle: Lifecycle
  tokens: readonly string[]
  /** With it callers must show a certificate. */
  tls?: Tls | undefined
  checks?: HealthCheck[]
  metrics?: Metrics
}): GrpcServer => {
  const unobserved = createServer(SERVER_OPTIONS).use(errorDetailsServerMiddleware).use(traceHandler)
  const server = (metrics ? unobserved.use(observeCalls(metrics)) : unobserved)
    .use(requireToken(tokens))
    .use(errorsToStatus(logger))
    .use(boundAccounts())
  const services = new Set<string>()
  server.add(HealthDefinition, healthService(services, checks, lifecycle))
  return {
    add: (definition, implementation) => {
      services.add((definition as { fullName: string }).fullName)
      server.add(readable(definition), implementation)
    },
    listen: async ({ host, port }) => {
      server.add(
        ServerReflectionService,
        ServerReflection(DESCRIPTORS, [HealthDefinition.fullName, ...services]),
      )
      const bound = await server.listen(`${host}:${port}`, serverCredentials(tls))
      lifecycle.onStop('grpc server', () => server.shutdown())
      return bound
    },
  }
}
